/** The tree of reports by level, and one report with its findings, references and neighbours. */
import { useState } from "preact/hooks";
import { address, get, type Citation, type ReportNode, type ReportPage as Page } from "../api";
import { Markdown } from "../markdown";
import { useWords } from "../messages";
import { Loading, Problem } from "../notices";
import { Link } from "../router";
import { useAppState, useLoaded } from "../state";
import { count } from "../text";
import { Sources } from "./entities";
import "./graph.css";

const ROOTS = 30; // reports of the top level that are listed before "more"

export function ReportsPage() {
  const words = useWords();
  const { index } = useAppState();
  const { value, error } = useLoaded<ReportNode[]>((signal) => get(address("/api/reports", index.name), signal), [index.name]);
  const [shown, setShown] = useState(ROOTS);
  return (
    <section class="reports listing">
      <h1>{words("reports")} {value && <span class="note">{count(index.reports)}</span>}</h1>
      {error && <Problem error={error} />}
      {!value && !error && <Loading />}
      {value?.length === 0 && <p>{words("noReports")}</p>}
      {value && <Branches nodes={value.slice(0, shown)} index={index.name} />}
      {value && value.length > shown && (
        <button type="button" onClick={() => setShown(shown + 5 * ROOTS)}>{words("more", count(value.length - shown))}</button>
      )}
    </section>
  );
}

function Branches({ nodes, index }: { nodes: ReportNode[]; index: string }) {
  return <ul class="branches">{nodes.map((node) => <Branch key={node.number} node={node} index={index} />)}</ul>;
}

/** A report and, once it is opened, those of its parts. */
function Branch({ node, index }: { node: ReportNode; index: string }) {
  const words = useWords();
  const [open, setOpen] = useState(false);
  const row = (
    <>
      <Link href={address(`/reports/${node.number}`, index)}>{node.title}</Link>
      <span class="note">{words("members", count(node.size))}</span>
      <Rating value={node.rating} />
    </>
  );
  if (!node.below.length) return <li><div class="branch">{row}</div></li>;
  return (
    <li>
      <div class="branch">
        <button type="button" class="toggle" aria-expanded={open} aria-label={`${words("below")}: ${node.title}`} onClick={() => setOpen(!open)} />
        {row}
      </div>
      {open && <Branches nodes={node.below} index={index} />}
    </li>
  );
}

/** How important a report is, of 10, as a number and a bar. */
function Rating({ value }: { value: number }) {
  const words = useWords();
  return (
    <span class="rating" title={`${words("rating")} ${value.toFixed(1)} / 10`}>
      <meter min={0} max={10} value={value} aria-label={words("rating")} />
      {value.toFixed(1)}
    </span>
  );
}

export function ReportPage({ number }: { number: number }) {
  const words = useWords();
  const { index } = useAppState();
  const { value, error } = useLoaded<Page>((signal) => get(address(`/api/reports/${number}`, index.name), signal), [index.name, number]);
  if (error) return <Problem error={error} />;
  if (!value) return <Loading />;
  const { report } = value;
  return (
    <article class="page">
      {value.above && <p class="note">{words("above")} <Link href={address(`/reports/${value.above.number}`, index.name)}>{value.above.title}</Link></p>}
      <h1>{report.title}</h1>
      <p class="facts">
        <span>{words("level")} {report.level}</span>
        <span>{words("members", count(report.size))}</span>
        <span title={report.rating_explanation}>{words("rating")} <Rating value={report.rating} /></span>
        <Link href={address("/map", index.name, { level: report.level + 1, focus: `c${report.community}` })}>{words("onMap")}</Link>
      </p>
      <div class="split">
        <div>
          <div class="reading"><Linked linked={value.linked[0]} index={index.name} /></div>
          {report.findings.map((finding, i) => (
            <section class="reading">
              <h2>{finding.summary}</h2>
              <Linked linked={value.linked[i + 1]} index={index.name} />
            </section>
          ))}
        </div>
        <aside class="beyond">
          {value.below.length > 0 && (
            <section>
              <h2>{words("below")}</h2>
              <ul class="lines">
                {value.below.map((row) => (
                  <li><div class="branch"><Link href={address(`/reports/${row.number}`, index.name)}>{row.title}</Link><Rating value={row.rating} /></div></li>
                ))}
              </ul>
            </section>
          )}
          <section>
            <h2>{words("bestConnected")}</h2>
            <p class="inline">{value.entities.map((row) => <Link href={address(`/entities/${row.number}`, index.name)} title={words("degree", count(row.degree))}>{row.name}</Link>)}</p>
          </section>
        </aside>
      </div>
    </article>
  );
}

/** A text of a report with its references as links: to reports and entities, else to the characters that support it. */
function Linked({ linked, index }: { linked: Page["linked"][number] | undefined; index: string }) {
  const [shown, setShown] = useState(-1);
  if (!linked) return null;
  const cited = new Map(linked.citations.map((citation) => [citation.marker, citation]));
  const mark = (marker: number, occurrence: number) => {
    const citation = cited.get(marker);
    if (!citation) return null;
    return (
      <button type="button" class="marker" aria-expanded={shown === occurrence} title={citation.title} onClick={() => setShown(shown === occurrence ? -1 : occurrence)}>
        {marker}
      </button>
    );
  };
  const markers = [...linked.text.matchAll(/\[(\d{1,4}(?:, ?\d{1,4})*)\]/g)].flatMap((match) => match[1]!.split(",").map(Number));
  const open = cited.get(markers[shown] ?? -1);
  return (
    <>
      <Markdown text={linked.text} mark={mark} />
      {open && <Reference citation={open} index={index} />}
    </>
  );
}

/** What a reference leads to: the page of a report or entity, and passages of documents. */
function Reference({ citation, index }: { citation: Citation; index: string }) {
  const kinds: Record<string, string> = { report: "reports", entity: "entities" };
  const page = kinds[citation.kind.toLowerCase().replace(/ies$/, "y").replace(/s$/, "")];
  return (
    <aside class="reference" aria-live="polite">
      <p>
        {page && typeof citation.number === "number" ? <Link href={address(`/${page}/${citation.number}`, index)}>{citation.title}</Link> : <strong>{citation.title}</strong>}
      </p>
      <Sources sources={citation.sources.slice(0, 3)} description="" />
    </aside>
  );
}
