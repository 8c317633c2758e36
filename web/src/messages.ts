/** The words of the app in English and Chinese, by key; `{}` is filled in order. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";

const english = {
  ask: "Ask",
  map: "Map",
  reports: "Reports",
  entities: "Entities",
  documents: "Documents",
  corrections: "Corrections",
  build: "Indexing",
  placeholder: "Ask a question about these documents",
  askButton: "Ask",
  stop: "Stop",
  method: "Method",
  automatic: "chosen by the question",
  whole: "About the whole",
  part: "About a part",
  examples: "Try one of these",
  sources: "Sources",
  openSource: "Open in document",
  why: "Why this method",
  answeredIn: "{} s",
  stopped: "Stopped.",
  tokens: "{} tokens",
  removed: "{} references that lead nowhere were removed.",
  loading: "Loading…",
  notFound: "There is nothing at this address.",
  search: "Search",
  noIndex: "There is no index here yet.",
  theme: "Theme",
  themeAuto: "system",
  themeLight: "light",
  themeDark: "dark",
  language: "Language",
  level: "Level",
  rating: "Importance",
  findings: "Findings",
  below: "Parts of it",
  above: "Part of",
  relationships: "Relationships",
  mentions: "Mentioned in",
  aliases: "Also called",
  characters: "Characters {}–{}",
  menu: "Menu",
  skip: "Skip to content",
  newQuestion: "New question",
};

export type Key = keyof typeof english;

const chinese: Record<Key, string> = {
  ask: "提问",
  map: "图谱",
  reports: "报告",
  entities: "实体",
  documents: "文档",
  corrections: "更正",
  build: "索引",
  placeholder: "就这些文档提一个问题",
  askButton: "提问",
  stop: "停止",
  method: "方法",
  automatic: "按问题选择",
  whole: "关于整体",
  part: "关于局部",
  examples: "可以试试这些问题",
  sources: "来源",
  openSource: "在文档中打开",
  why: "为何用此方法",
  answeredIn: "{} 秒",
  stopped: "已停止。",
  tokens: "{} 个词元",
  removed: "已删除 {} 处无效引用。",
  loading: "加载中…",
  notFound: "此地址没有内容。",
  search: "搜索",
  noIndex: "这里还没有索引。",
  theme: "主题",
  themeAuto: "跟随系统",
  themeLight: "浅色",
  themeDark: "深色",
  language: "语言",
  level: "层级",
  rating: "重要性",
  findings: "要点",
  below: "下级报告",
  above: "上级报告",
  relationships: "关系",
  mentions: "提及于",
  aliases: "别名",
  characters: "第 {}–{} 个字符",
  menu: "菜单",
  skip: "跳到正文",
  newQuestion: "新问题",
};

export const LANGUAGES = { en: english, zh: chinese } as const;
export type Language = keyof typeof LANGUAGES;
export type Translate = (key: Key, ...values: (string | number)[]) => string;

export function translator(language: Language): Translate {
  return (key, ...values) => {
    let index = 0;
    return LANGUAGES[language][key].replace(/\{\}/g, () => String(values[index++] ?? ""));
  };
}

/** The language of the browser, unless another one was chosen before. */
export function preferredLanguage(): Language {
  const chosen = localStorage.getItem("language");
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const Words = createContext<Translate>(translator("en"));
export const useWords = () => useContext(Words);
