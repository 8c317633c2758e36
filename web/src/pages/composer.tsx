/** The field for a question, with the choice of a method, and what an answer would take, before anything is asked. */
import { useEffect, useRef, useState } from "preact/hooks";
import { address, send, type AnswerEstimate, type MethodRow } from "../api";
import { useWords, type Translate } from "../messages";
import { methodHelp, obstacle, reason } from "../methods";
import { useAppState } from "../state";
import { count } from "../text";

/** A question of a conversation and the method that is to answer it, "" for one that is chosen by the question. */
export interface Turn {
  question: string;
  method: string;
}

/** Milliseconds without a key until what is written is taken for a question. */
const PAUSE = 400;

interface Props {
  label: string;
  methods: MethodRow[];
  submit: (turn: Turn) => void;
  focused?: boolean;
  /** Whether it follows other questions: a language model then reads those too. */
  followUp?: boolean;
  /** A question that somebody picked, to be looked at before it is asked. */
  proposed?: string;
}

export function Composer(props: Props) {
  const words = useWords();
  const { index } = useAppState();
  const [text, setText] = useState("");
  const [method, setMethod] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const estimated = useEstimate(text, method);
  useEffect(() => {
    if (props.focused) field.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    if (!props.proposed) return;
    setText(props.proposed);
    field.current?.focus();
  }, [props.proposed]);
  const submit = () => {
    if (text.trim()) props.submit({ question: text.trim(), method });
  };
  const chosen = props.methods.find(({ name }) => name === method);
  const seen = text.trim() ? estimated.value : undefined;
  const help = chosen ? methodHelp(words, chosen) : seen?.why ? `${seen.method}: ${reason(words, seen.why)}` : words("autoHelp");
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        id="question"
        ref={field}
        data-search
        aria-label={props.label}
        aria-describedby={index.model === EXTRACTIVE ? undefined : "estimate"}
        placeholder={props.label}
        dir="auto"
        rows={2}
        maxLength={20000}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            submit();
          }
        }}
      />
      <div class="controls">
        {props.methods.length > 0 && (
          <label>
            <span>{words("method")}</span>
            <select value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
              <MethodOptions methods={props.methods} />
            </select>
            <span class="help" title={help}>{help}</span>
          </label>
        )}
        <button type="submit" class="primary" disabled={!text.trim()}>{words("askButton")}</button>
      </div>
      {index.model !== EXTRACTIVE && (
        <p class="takes note" id="estimate" role="status">
          {!text.trim() ? words("estimateFirst", index.model) : <EstimateText estimated={estimated} followUp={props.followUp} />}
        </p>
      )}
    </form>
  );
}

const EXTRACTIVE = "extractive";

interface Estimated {
  value?: AnswerEstimate;
  error?: Error;
  /** Whether it is of what was written before. */
  old: boolean;
}

/** Estimate what is written whenever its author pauses; one after another, and the one before is shown meanwhile. */
export function useEstimate(question: string, method: string): Estimated {
  const { index } = useAppState();
  const [estimated, setEstimated] = useState<Estimated>({ old: true });
  useEffect(() => {
    const asked = question.trim();
    let wanted = true;
    setEstimated((before) => ({ ...before, old: true }));
    const timer = setTimeout(() => {
      if (!asked) return;
      const body = { question: asked, ...(method ? { method } : {}) };
      send<AnswerEstimate>("POST", address("/api/ask/estimate", index.name), body).then(
        (value) => wanted && setEstimated({ value, old: false }),
        (error: Error) => wanted && setEstimated({ error, old: false }),
      );
    }, PAUSE);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [question, method, index.name, index.snapshot]);
  return estimated;
}

/** Calls, tokens and cost in a line. */
export function EstimateText({ estimated, followUp }: { estimated: Estimated; followUp?: boolean | undefined }) {
  const words = useWords();
  if (estimated.error) return <span class="error">{estimated.error.message}</span>;
  const row = estimated.value?.estimate;
  if (!row) return <>{words("estimating")}</>;
  return <span class={estimated.old ? "old" : undefined}>{figures(words, row, followUp).join(" · ")}</span>;
}

function figures(words: Translate, row: NonNullable<AnswerEstimate["estimate"]>, followUp?: boolean): string[] {
  const [low, high] = row.calls;
  if (!high) return [words("estimateNone")];
  const calls = words("estimateCalls", low === high ? count(low) : `${count(low)}–${count(high)}`);
  const likely = row.likely_cost;
  const cost = likely === null ? words("estimateCostUnknown") : likely ? words("estimateCost", money(likely)) : words("estimateFree");
  return [calls, words("estimateTokens", count(rounded(row.likely_tokens))), cost, ...(followUp ? [words("estimateFollowUp")] : [])];
}

/** A number with two digits that count: more would claim to know. */
function rounded(n: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(n, 1))) - 1);
  return Math.round(n / unit) * unit;
}

/** Dollars, with more digits for what is less than a cent. */
export function money(dollars: number): string {
  return dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2);
}

export function MethodOptions({ methods }: { methods: MethodRow[] }) {
  const words = useWords();
  return (
    <>
      <option value="">{words("auto")}</option>
      {methods
        .filter(({ name }) => name !== "auto")
        .map((row) => (
          <option value={row.name} title={methodHelp(words, row)} disabled={row.lacks.length > 0}>
            {row.lacks.length > 0 ? `${row.name} (${obstacle(words, row)})` : row.name}
          </option>
        ))}
    </>
  );
}
