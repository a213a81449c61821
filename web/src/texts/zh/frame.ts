import type { Same } from "../shape";
import type { frame as en } from "../en/frame";

export const frame: Same<typeof en> = {
  skip: "跳到正文",
  sidebar: "侧栏",
  navigation: "导航",
  openNavigation: "打开导航",
  project: "项目",
  allProjects: "全部项目",
  noProject: "您还不属于任何项目",
  overview: "概览",
  jobs: "任务",
  submit: "提交任务",
  account: "账号",
  profile: "个人资料与 API 密钥",
  language: "语言",
  theme: "外观",
  system: "跟随系统",
  light: "浅色",
  dark: "深色",
  signOut: "退出登录",
  commandLine: "使用命令行",
  goTo: "跳转到",
  goToHint: "页面、任务、运行或存储桶",
  nothingFound: "没有匹配项",
  keys: "按 Ctrl K、/ 或 ? 打开；方向键选择，回车打开，Esc 关闭。",
};
