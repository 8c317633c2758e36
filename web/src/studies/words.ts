/** The words of the pages of evaluations, in English and Chinese. */
import { filled, useWords, type Values } from "../messages";

const english = {
  studies: "Studies",
  none: "No evaluation is served here.",
  noneHelp: "Compare ways of answering in a terminal, and name the folder when the server starts:",
  sizes: "{} question(/s), {} condition(/s)",
  judgements: "{} judgement(/s)",
  winRates: "Win rates",
  winHelp: "How often the row wins over the column, in %; a tie is half a win. Bold: it differs from 50 (p < 0.05, Wilcoxon, Holm).",
  noRates: "No answers were judged.",
  wins: "{} wins over {} in {} % of judgements (95 %: {} to {})",
  significant: "p = {}",
  onThisPage: "On this page",
  questions: "Questions",
  question: "Question",
  back: "Back to {}",
  persona: "Asked by",
  task: "Task",
  answers: "Answers",
  compare: "Compare",
  with: "with",
  verdicts: "Judgements",
  wonBy: "{} is preferred",
  tie: "Tie",
  replicate: "Judgement {}",
  answerIs: "Answer {} was {}",
  cited: "{} cited text(/s)",
  claims: "{} claim(/s)",
  supported: "{} of {} cited sentences supported",
  read: "{} tokens read",
  failed: "This answer failed: {}",
  noAnswer: "This condition has no answer to this question.",
  previous: "Previous question",
  next: "Next question",
};

type StudyKey = keyof typeof english;

const chinese: Record<StudyKey, string> = {
  studies: "评测",
  none: "此服务器没有评测结果。",
  noneHelp: "请在终端中比较不同的回答方式，并在启动服务器时指定文件夹：",
  sizes: "{} 个问题，{} 种条件",
  judgements: "{} 次评判",
  winRates: "胜率",
  winHelp: "行胜过列的百分比；平局计半胜。粗体：与 50 有显著差异（p < 0.05，Wilcoxon，Holm）。",
  noRates: "尚未评判任何回答。",
  wins: "{} 对 {}：{} %（95 %：{} 至 {}）",
  significant: "p = {}",
  onThisPage: "本页内容",
  questions: "问题",
  question: "问题",
  back: "返回 {}",
  persona: "提问者",
  task: "任务",
  answers: "回答",
  compare: "比较",
  with: "与",
  verdicts: "评判",
  wonBy: "{} 更优",
  tie: "平局",
  replicate: "第 {} 次评判",
  answerIs: "回答 {} 为 {}",
  cited: "{} 处引用原文",
  claims: "{} 条陈述",
  supported: "引用句中 {}/{} 有依据",
  read: "读取 {} 个词元",
  failed: "此回答失败：{}",
  noAnswer: "此条件没有回答这个问题。",
  previous: "上一个问题",
  next: "下一个问题",
};

export function useStudyWords() {
  const { language } = useWords();
  return (key: StudyKey, ...values: Values) => filled((language === "zh" ? chinese : english)[key], values);
}
