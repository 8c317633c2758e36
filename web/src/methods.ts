/** What methods do and why one was chosen, in the language of the app: the server says it in English. */
import type { MethodRow } from "./api";
import type { Translate } from "./messages";

const CHINESE: Record<string, string> = {
  global: "对某一层社区报告逐批作答再汇总",
  local: "问题中的实体及其邻近内容",
  rollup: "与问题相关的社区，按需撰写报告",
  drilldown: "从顶层报告逐级深入到文本块",
  drift: "先据报告作答，再追问细节",
  "source-summary": "对全部原文逐批作答再汇总",
  "semantic-search": "从最相近的原文片段逐批作答再汇总",
  mixed: "多种排序选出的段落，以及图谱对问题中名称所知的内容",
  bm25: "含有问题用词的文本块",
  vector: "向量最接近的文本块",
  hybrid: "BM25 与向量并用",
  walk: "从问题中的名称出发，在句子与实体间随机游走",
  hipporag: "名词短语上的个性化 PageRank（HippoRAG）",
  hipporag2: "名词短语与文本块上的个性化 PageRank，从与问题相近的三元组出发（HippoRAG 2）",
  combined: "名词短语与文本块上的个性化 PageRank，从问题中的名称和相近的文本块出发",
  ircot: "检索与推理交替进行（IRCoT）",
  tog: "轮流探索图谱与阅读文本（Think-on-Graph 2）",
  tog1: "只探索图谱（Think-on-Graph）",
  raptor: "文本块聚类摘要树",
  propositions: "按单句陈述排序，阅读其所在文本块",
  direct: "模型直接作答，不阅读任何内容",
  cot: "同上，并逐步推理",
  "cot-sc": "多次逐步推理后取多数答案",
};

const REASONS: [RegExp, string][] = [
  [/^it asks about the corpus as a whole$/, "问题针对全部文档"],
  [/^it asks about the corpus as a whole, and there are no reports$/, "问题针对全部文档，而索引没有报告"],
  [/^it asks what several sources say$/, "问题涉及多个来源的说法"],
  [/^it asks how (.+) go together$/, "问题涉及 $1 之间的关系"],
  [/^it joins facts$/, "需要联系多个事实"],
  [/^it asks for a fact$/, "问题询问一项事实"],
  [/^it is about (.+)$/, "问题关于 $1"],
  [/^it names nothing the graph knows$/, "图谱中没有问题提到的内容"],
  [/^the index is a graph without text$/, "索引只有图谱，没有文本"],
  [/^a level was given$/, "已指定层级"],
  [/^(.+), and no report says anything on it$/, "$1，但没有报告谈到它"],
  [/^(\d+) windows? of reports$/, "读取 $1 批报告"],
  [/^(\d+) windows? of source text$/, "读取 $1 批原文"],
  [/^from what the graph knows of (.+)$/, "依据图谱中关于 $1 的内容"],
  [/^from the chunks nearest to the question$/, "依据与问题最接近的文本块"],
];

/** A few words on what a method does; those of the server where the app knows none. */
export function methodHelp(words: Translate, { name, help }: MethodRow): string {
  return (words.language === "zh" && CHINESE[name]) || help;
}

/** Why a method cannot answer here, "" where it can. */
export function obstacle(words: Translate, { lacks }: MethodRow): string {
  return lacks.map((need) => words(need === "vectors" ? "lacksVectors" : "lacksModel")).join(words.language === "zh" ? "，" : ", ");
}

/** The two entities that a question names, by why it was answered so; none where they are fewer or more. */
export function connected(question: string, why: string): [string, string] | null {
  const names = /(?:it asks how (.+?) go together|from what the graph knows of (.+?))(?:;|$)/.exec(why);
  const asked = question.toLowerCase();
  const isNamed = (name: string) => name.toLowerCase().split(" ").some((word) => word && asked.includes(word));
  const [source, target, ...others] = (names?.[1] ?? names?.[2] ?? "").split(", ").filter(isNamed);
  return source && target && !others.length ? [source, target] : null;
}

/** Why a method was chosen, and what it read. */
export function reason(words: Translate, why: string): string {
  if (words.language !== "zh") return why;
  return why
    .split("; ")
    .map((part) => {
      const known = REASONS.find(([pattern]) => pattern.test(part));
      return known ? part.replace(known[0], known[1]) : part;
    })
    .join("；");
}
