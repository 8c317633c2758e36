/** The tree of reports by level, and one report with its findings and neighbours. */
import { address, get, type ReportNode, type ReportPage as Page } from "../api";
import { Markdown } from "../markdown";
import { useWords } from "../messages";
import { Link } from "../router";
import { useAppState, useLoaded } from "../state";

export function ReportsPage() {
  const words = useWords();
  const { index } = useAppState();
  const { value, error } = useLoaded<ReportNode[]>((signal) => get(address("/api/reports", index.name), signal), [index.name]);
  return (
    <section>
      <h1>{words("reports")}</h1>
      {error && <p class="error" role="alert">{error.message}</p>}
      {value && <Tree nodes={value} index={index.name} />}
    </section>
  );
}

function Tree({ nodes, index }: { nodes: ReportNode[]; index: string }) {
  return (
    <ul class="tree">
      {nodes.map((node) => (
        <li>
          {node.below.length ? (
            <details>
              <summary><Row node={node} index={index} /></summary>
              <Tree nodes={node.below} index={index} />
            </details>
          ) : (
            <Row node={node} index={index} />
          )}
        </li>
      ))}
    </ul>
  );
}

function Row({ node, index }: { node: ReportNode; index: string }) {
  return (
    <span class="row">
      <Link href={address(`/reports/${node.number}`, index)}>{node.title}</Link>
      <span class="note">{node.rating.toFixed(1)} · {node.size}</span>
    </span>
  );
}

export function ReportPage({ number }: { number: number }) {
  const words = useWords();
  const { index } = useAppState();
  const { value, error } = useLoaded<Page>((signal) => get(address(`/api/reports/${number}`, index.name), signal), [index.name, number]);
  if (error) return <p class="error" role="alert">{error.message}</p>;
  if (!value) return <p class="waiting">{words("loading")}</p>;
  const { report } = value;
  return (
    <article class="report">
      {value.above && <p class="note">{words("above")} <Link href={address(`/reports/${value.above.number}`, index.name)}>{value.above.title}</Link></p>}
      <h1>{report.title}</h1>
      <p class="note">{words("level")} {report.level} · {words("rating")} {report.rating.toFixed(1)}</p>
      <Markdown text={report.summary} />
      {report.findings.map((finding) => (
        <section>
          <h2>{finding.summary}</h2>
          <Markdown text={finding.explanation} />
        </section>
      ))}
      {value.below.length > 0 && (
        <section>
          <h2>{words("below")}</h2>
          <ul>{value.below.map((link) => <li><Link href={address(`/reports/${link.number}`, index.name)}>{link.title}</Link></li>)}</ul>
        </section>
      )}
      <section>
        <h2>{words("entities")}</h2>
        <ul class="chips">{value.entities.map((row) => <li><Link href={address(`/entities/${row.number}`, index.name)}>{row.name}</Link></li>)}</ul>
      </section>
    </article>
  );
}
