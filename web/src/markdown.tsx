/** Answers and reports are Markdown with citations `[1]`. Only what they use is set; everything else stays text. */
import type { ComponentChildren } from "preact";

type Inline = (text: string) => ComponentChildren[];

/** Set inline text: **bold**, *emphasis*, `code` and whatever `mark` makes of citation markers. */
function inline(mark: (marker: number) => ComponentChildren): Inline {
  return (text) => {
    const parts: ComponentChildren[] = [];
    const pattern = /\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])|`([^`]+)`|\[(\d{1,4})\]/g;
    let last = 0;
    for (const match of text.matchAll(pattern)) {
      parts.push(text.slice(last, match.index));
      if (match[1] !== undefined) parts.push(<strong>{match[1]}</strong>);
      else if (match[2] !== undefined) parts.push(<em>{match[2]}</em>);
      else if (match[3] !== undefined) parts.push(<code>{match[3]}</code>);
      else parts.push(mark(Number(match[4])));
      last = match.index + match[0].length;
    }
    parts.push(text.slice(last));
    return parts;
  };
}

/** Set Markdown: headings, paragraphs, lists and quotations. */
export function Markdown(props: { text: string; mark?: (marker: number) => ComponentChildren }) {
  const set = inline(props.mark ?? ((marker) => `[${marker}]`));
  const blocks = props.text.trim().split(/\n{2,}/);
  return <>{blocks.map((block) => renderBlock(block, set))}</>;
}

function renderBlock(block: string, set: Inline): ComponentChildren {
  const lines = block.split("\n");
  const heading = /^(#{1,6}) (.*)$/.exec(lines[0] ?? "");
  if (heading) {
    const rest = lines.slice(1).join("\n").trim();
    const Level = heading[1]!.length <= 2 ? "h2" : "h3";
    return (
      <>
        <Level>{set(heading[2]!)}</Level>
        {rest && renderBlock(rest, set)}
      </>
    );
  }
  const bullet = /^\s*[-*] /;
  const number = /^\s*\d+[.)] /;
  for (const [pattern, List] of [[bullet, "ul"], [number, "ol"]] as const) {
    if (!pattern.test(lines[0] ?? "")) continue;
    const items: string[] = [];
    for (const line of lines) {
      if (pattern.test(line)) items.push(line.replace(pattern, ""));
      else items.push(`${items.pop() ?? ""}\n${line}`);
    }
    return <List>{items.map((item) => <li>{set(item)}</li>)}</List>;
  }
  if (lines.every((line) => line.startsWith(">"))) {
    return <blockquote>{set(lines.map((line) => line.replace(/^> ?/, "")).join("\n"))}</blockquote>;
  }
  return <p>{set(block)}</p>;
}
