import { graphIn, graphOf, outlineOfGraph, readGraphFile, type ShownNode } from '../../app/graphs/graph-file.ts';
import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import type { WorkflowDetailView } from '../../operate/views.ts';
import { outFor, type Paint } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatWhen } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { timesText } from '../schedules/words.ts';
import { isFile } from './which.ts';
import { standText } from './words.ts';

/** `leasehold workflows show FILE`. */
export const show: Command = {
  name: 'workflows show',
  doc: 'Draw a workflow of nodes and connections: what each node does, and where it leads',
  args: [{ name: 'FILE|NAME', doc: 'The workflow, in JSON or YAML, or the name of a stored one' }],
  options: ['format', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workflows show hello.json', does: 'for a terminal, in the order in which the nodes can run' },
    { line: 'workflows show nightly', does: 'a stored one, with its version and its triggers' },
    { line: 'workflows show hello.json --format mermaid', does: 'a diagram for Markdown, as Mermaid draws it' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [file] = words as [string];
    const out = outFor(config);
    const stored = isFile(file) ? undefined : await storedOne(config, file);
    const graph = stored === undefined ? graphIn(file, await readGraphFile(file)) : graphOf(file, stored.workflow);
    const nodes = outlineOfGraph(graph);
    if (config.json || config.format === 'json') {
      const { workflow: _text, ...about } = stored ?? { workflow: undefined, name: graph.name };
      out.json({ ...about, nodes });
    } else if (config.format === 'mermaid') for (const line of diagram(nodes)) out.line(line);
    else {
      for (const line of page(stored?.name ?? graph.name, nodes, out.paint)) out.line(line);
      if (stored !== undefined) for (const line of about(stored, out.paint)) out.line(line);
    }
    return EXIT.fine;
  },
};

const storedOne = (config: Config, name: string): Promise<WorkflowDetailView> =>
  withOperator(config, (operator) => operator.call('getWorkflow', { params: { name } }));

function about(workflow: WorkflowDetailView, paint: Paint): readonly string[] {
  const now = Date.now();
  const { version, at, by, triggers } = workflow;
  return [
    '',
    `${paint('dim', 'version')}  ${version}, ${formatWhen(at, now)}${by === undefined ? '' : ` by ${safeLine(by)}`}`,
    `${paint('dim', 'state')}    ${standText(workflow, now)}`,
    ...triggers.map((trigger) => {
      const next = trigger.nextAt === undefined ? trigger.state : `next ${formatWhen(trigger.nextAt, now)}`;
      return `${paint('dim', 'trigger')}  ${safeLine(trigger.node)}: ${safeLine(timesText(trigger))}; ${next}; schedule ${trigger.schedule}`;
    }),
  ];
}

function page(name: string, nodes: readonly ShownNode[], paint: Paint): readonly string[] {
  return [
    `${paint('bold', safeLine(name))}  ${paint('dim', `${nodes.length} node${nodes.length === 1 ? '' : 's'}`)}`,
    ...nodes.flatMap((node) => {
      const { id, type, to, handler, requires, limits, pinned } = node;
      const does = pinned ? 'pinned: it does not run' : handler === undefined ? 'within the run' : `task of ${handler}`;
      const needs = [
        ...(requires.length === 0 ? [] : [`needs ${requires.join(', ')}`]),
        ...(limits.length === 0 ? [] : [`takes from ${limits.join(', ')}`]),
      ];
      return [
        '',
        `${paint(handler === undefined ? 'blue' : 'cyan', '●')} ${paint('bold', safeLine(id))}  ${paint('dim', safeLine([type, does, ...needs].join(' · ')))}`,
        ...to.map((one) => `  ${paint('cyan', '→')} ${safeLine(one)}`),
      ];
    }),
  ];
}

function diagram(nodes: readonly ShownNode[]): readonly string[] {
  const numbers = new Map(nodes.map(({ id }, i) => [id, i]));
  const isFalse = (to: string): boolean => to.endsWith(' (false)') && !numbers.has(to);
  return [
    'flowchart LR',
    ...nodes.map(({ id, type }, i) => `  n${i}["${quoted(id)}<br>${quoted(type)}"]`),
    ...nodes.flatMap(({ to }, i) =>
      to.map((one) =>
        isFalse(one)
          ? `  n${i} -. false .-> n${numbers.get(one.replace(/ \(false\)$/, ''))}`
          : `  n${i} --> n${numbers.get(one)}`,
      ),
    ),
  ];
}

/** Mermaid has no other way to write what could end a text. */
function quoted(text: string): string {
  return safeLine(text).replace(/[^\w ./:@-]/gu, (one) => `#${one.codePointAt(0)};`);
}
