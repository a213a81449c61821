/** Lines that look like a level, as people and libraries write them. */
export const LEVELS = {
  error: String.raw`(?i)\b(error|exception|traceback|fatal|critical|panic|segmentation fault|out of memory|killed)\b|Error\b|Exception\b`,
  warning: String.raw`(?i)\b(warn|warning|error|exception|traceback|fatal|critical|panic|segmentation fault|out of memory|killed)\b|Error\b|Exception\b|Warning\b`,
} as const;
export type Level = keyof typeof LEVELS;
export const LEVEL_NAMES = Object.keys(LEVELS) as Level[];
