/** A question of an evaluation: two answers side by side, and why one of them was preferred. */
import { get } from "../api";
import { Markdown } from "../markdown";
import { Loading, Problem } from "../notices";
import { Link, navigate } from "../router";
import { useLoaded } from "../state";
import { count } from "../text";
import { studyAddress, type Study } from "./pages";
import { useStudyWords } from "./words";

interface StudyAnswer {
  condition: string;
  text: string;
  cited: { marker: number; title: string; text: string }[];
  context_tokens: number;
  error: string;
}

interface Judgement {
  first: string;
  second: string;
  criterion: string;
  replicate: number;
  /** 1 or 2, and 0 for a tie. */
  winner: number;
  reasoning: string;
}

interface Question {
  id: string;
  text: string;
  conditions: string[];
  answers: StudyAnswer[];
  claims: { condition: string; claims: string[] }[];
  grounding: { condition: string; sentences?: { supported?: boolean }[] }[];
  judgements: Judgement[];
}

type Loaded = [Question, Study];

export function QuestionPage({ study, id, query }: { study: string; id: string; query: URLSearchParams }) {
  const words = useStudyWords();
  const load = (signal: AbortSignal): Promise<Loaded> => Promise.all([
    get<Question>(`/api/studies/${encodeURIComponent(study)}/questions/${encodeURIComponent(id)}`, signal),
    get<Study>(`/api${studyAddress(study)}`, signal),
  ]);
  const { value, error } = useLoaded<Loaded>(load, [study, id]);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  const [question, whole] = value;
  const at = whole.questions.findIndex(([other]) => other === id);
  const [, , persona, task] = whole.questions[at] ?? ["", "", "", ""];
  const known = (name: string | null, fallback: string | undefined) => (name && question.conditions.includes(name) ? name : (fallback ?? ""));
  const first = known(query.get("a"), question.conditions[0]);
  const second = known(query.get("b"), question.conditions.find((condition) => condition !== first));
  const choose = (a: string, b: string) => navigate(`${studyAddress(study, id)}?${new URLSearchParams({ a, b })}`, { replace: true });
  const others = query.size ? `?${query}` : "";
  const neighbour = (step: number) => {
    const row = whole.questions[at + step];
    return row && studyAddress(study, row[0]) + others;
  };
  const judged = question.judgements.filter((row) => [row.first, row.second].every((one) => one === first || one === second));
  return (
    <article class="compared">
      <p class="crumbs"><Link href={studyAddress(study)} back>{words("back", study)}</Link></p>
      <h1 dir="auto">{question.text}</h1>
      {(persona || task) && (
        <dl class="about">
          {persona && <div><dt>{words("persona")}</dt><dd dir="auto">{persona}</dd></div>}
          {task && <div><dt>{words("task")}</dt><dd dir="auto">{task}</dd></div>}
        </dl>
      )}
      {question.conditions.length > 2 && (
        <p class="choice">
          <label>{words("compare")} <Choice value={first} not={second} all={question.conditions} choose={(name) => choose(name, second)} /></label>
          <label>{words("with")} <Choice value={second} not={first} all={question.conditions} choose={(name) => choose(first, name)} /></label>
        </p>
      )}
      {judged.length > 0 && (
        <section>
          <h2>{words("verdicts")}</h2>
          <div class="verdicts">{whole.criteria.map(([criterion]) => <Verdict criterion={criterion} rows={judged.filter((row) => row.criterion === criterion)} />)}</div>
        </section>
      )}
      <section>
        <h2>{words("answers")}</h2>
        <div class="answers">
          {[first, second].filter(Boolean).map((condition) => <AnswerView key={condition} condition={condition} question={question} />)}
        </div>
      </section>
      <nav class="pager" aria-label={words("questions")}>
        <span>{neighbour(-1) && <Link href={neighbour(-1)!}>{words("previous")}</Link>}</span>
        <span>{neighbour(1) && <Link href={neighbour(1)!}>{words("next")}</Link>}</span>
      </nav>
    </article>
  );
}

function Choice(props: { value: string; not: string; all: string[]; choose: (name: string) => void }) {
  return (
    <select value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
      {props.all.filter((name) => name !== props.not).map((name) => <option value={name}>{name}</option>)}
    </select>
  );
}

/** What judges preferred by one criterion, with their reasons on demand. */
function Verdict({ criterion, rows }: { criterion: string; rows: Judgement[] }) {
  const words = useStudyWords();
  if (!rows.length) return null;
  const preferred = (row: Judgement) => (row.winner === 1 ? row.first : row.winner === 2 ? row.second : "");
  const names = rows.map(preferred);
  const [leader = ""] = [...new Set(names)].sort((a, b) => votes(names, b) - votes(names, a));
  const even = !leader || votes(names, leader) * 2 <= names.length;
  return (
    <details>
      <summary>
        <span>{criterion.charAt(0).toUpperCase() + criterion.slice(1)}</span>
        <span class="note">{even ? words("tie") : `${words("wonBy", leader)} (${votes(names, leader)}/${names.length})`}</span>
      </summary>
      {rows.map((row) => (
        <div class="reason">
          <p class="note">
            {rows.length > 1 && `${words("replicate", row.replicate)}: `}
            {preferred(row) ? words("wonBy", preferred(row)) : words("tie")}
            {` · ${words("answerIs", 1, row.first)}, ${words("answerIs", 2, row.second)}`}
          </p>
          <p dir="auto">{row.reasoning}</p>
        </div>
      ))}
    </details>
  );
}

const votes = (names: string[], name: string) => names.filter((other) => other === name).length;

function AnswerView({ condition, question }: { condition: string; question: Question }) {
  const words = useStudyWords();
  const answer = question.answers.find((row) => row.condition === condition);
  const claims = question.claims.find((row) => row.condition === condition)?.claims;
  const sentences = question.grounding.find((row) => row.condition === condition)?.sentences ?? [];
  const facts = answer && [
    words("read", count(answer.context_tokens)),
    claims && words("claims", count(claims.length)),
    sentences.length > 0 && words("supported", count(sentences.filter((one) => one.supported).length), count(sentences.length)),
  ];
  const titles = new Map(answer?.cited.map((row) => [row.marker, row.title]));
  return (
    <article>
      <header>
        <h3>{condition}</h3>
        {facts && <p class="note">{facts.filter(Boolean).join(" · ")}</p>}
      </header>
      {!answer && <p class="note">{words("noAnswer")}</p>}
      {answer?.error && <p class="error">{words("failed", answer.error)}</p>}
      {answer && <div class="reading answer"><Markdown text={answer.text} mark={(marker) => <span class="marker" title={titles.get(marker)}>{marker}</span>} top={3} /></div>}
      {answer && answer.cited.length > 0 && (
        <details class="details">
          <summary>{words("cited", count(answer.cited.length))}</summary>
          <ol class="cited">
            {answer.cited.map((row) => <li value={row.marker}><strong>{row.title}</strong><blockquote dir="auto">{row.text}</blockquote></li>)}
          </ol>
        </details>
      )}
    </article>
  );
}
