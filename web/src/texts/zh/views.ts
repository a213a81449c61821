import type { Same } from "../shape";
import type { views as en } from "../en/views";

export const views: Same<typeof en> = {
  title: "视图",
  save: "保存为视图",
  saveText: "保存当前的筛选、列、分组、缩放和图表。您的同名视图会被替换。",
  name: "名称",
  project: "项目",
  share: "与项目所有成员共享",
  savedAs: (name) => `已保存视图“${name}”`,
  mine: "仅自己可见",
  shared: (project) => `已在 ${project} 中共享`,
  by: (owner, project) => `${owner} 创建，位于 ${project}`,
  copy: (name) => `复制 ${name} 的链接`,
  copied: "链接已复制",
  delete: (name) => `删除 ${name}`,
  deleteTitle: (name) => `删除视图“${name}”？`,
  deleteText: (project) => `该视图在 ${project} 中共享，删除后其链接将失效。`,
  deleted: (name) => `已删除视图“${name}”`,
};
