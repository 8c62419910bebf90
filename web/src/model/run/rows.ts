/**
 * The rows of a run's waterfall, from the journals of its tasks. A part of a step (`s:000004/0`) stands below the step
 * (`s:000004`), and what a child has done stands below the child once somebody opens it.
 */

import { isFinal } from '../task-states.ts';

/** An entry of a journal, as the node lists it. */
export interface Step {
  readonly task: string;
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  readonly via?: readonly string[] | undefined;
  readonly passed?: readonly string[] | undefined;
  readonly step?: number | undefined;
  readonly attempt: number;
  readonly began?: number | undefined;
  readonly at: number;
  /** When a child or an attempt has ended, where the node says so. */
  readonly ended?: number | undefined;
  readonly child?: string | undefined;
  readonly state?: string | undefined;
  readonly usage?: unknown;
  readonly forkable: boolean;
}

/** How the run stands: what is under way is in no journal yet. */
export interface Standing {
  readonly id: string;
  readonly state: string;
  readonly createdAt: number;
  readonly startedAt?: number | undefined;
  readonly finishedAt?: number | undefined;
  readonly current?: string | undefined;
  readonly step?: number | undefined;
  readonly waits: readonly Wait[];
}

interface Wait {
  readonly task: string;
  readonly kind: string;
  readonly key: string;
  readonly since: number;
  readonly channel?: string | undefined;
  readonly title?: string | undefined;
}

export interface StepRow {
  readonly id: string;
  readonly task: string;
  readonly key: string;
  readonly kind: string;
  readonly name: string;
  /** States that were passed with it, without doing anything. */
  readonly via: readonly string[];
  readonly level: number;
  /** The state whose colour it has. */
  readonly tone: string;
  readonly from: number;
  /** Undefined: it goes on. */
  readonly until: number | undefined;
  /** Whether the rows below it are shown; undefined: it has none. */
  readonly open: boolean | undefined;
  readonly child: string | undefined;
  /** Undefined: it is in no journal yet. */
  readonly of: Step | undefined;
}

export type Journals = ReadonlyMap<string, readonly Step[]>;

export const rowId = (task: string, key: string): string => `${task} ${key}`;

/** The key of a step of a machine, as its driver writes it. */
const stepKey = (step: number): string => `s:${String(step).padStart(6, '0')}`;

/** Steps with more parts than this are closed at first. */
const MOST_OPEN = 40;
const MOST_LEVELS = 40;

interface Node {
  row: Omit<StepRow, 'level' | 'open' | 'id'>;
  readonly parts: Node[];
}

/** `turned` are the rows that somebody opened or closed by hand. */
export function rowsOf(run: Standing, journals: Journals, turned: ReadonlySet<string>): readonly StepRow[] {
  const rows: StepRow[] = [];
  const add = (nodes: readonly Node[], level: number, above: ReadonlySet<string>): void => {
    for (const { row, parts } of nodes) {
      const id = rowId(row.task, row.key);
      const opensChild = row.child !== undefined && level < MOST_LEVELS && !above.has(row.child);
      const hasMore = parts.length > 0 || opensChild;
      const openAtFirst = parts.length > 0 && parts.length <= MOST_OPEN;
      const open = hasMore ? openAtFirst !== turned.has(id) : undefined;
      rows.push({ ...row, id, level, open });
      if (open !== true) continue;
      add(parts, level + 1, above);
      if (opensChild)
        add(nodesOf(run, row.child as string, journals), level + 1, new Set([...above, row.child as string]));
    }
  };
  add(nodesOf(run, run.id, journals), 0, new Set([run.id]));
  return rows;
}

/** Children whose journals are needed for these rows. */
export function openChildren(rows: readonly StepRow[]): readonly string[] {
  return rows.flatMap(({ open, child }) => (open === true && child !== undefined ? [child] : []));
}

function nodesOf(run: Standing, task: string, journals: Journals): readonly Node[] {
  const steps = journals.get(task) ?? [];
  const waits = run.waits.filter((wait) => wait.task === task);
  const waiting = new Set(waits.map(({ key }) => key));
  const nodes = new Map<string, Node>();
  const shown = withoutNotes(steps);
  for (const step of shown) nodes.set(step.key, { row: rowOf(step, waiting, steps), parts: [] });
  if (task === run.id) {
    const now = underWay(run, steps, nodes);
    if (now !== undefined) {
      // Until then its parts are called by the number of the step alone.
      const number = `step ${run.step}: `;
      for (const [key, { row, parts }] of nodes)
        if (key.startsWith(`${now.key}/`) && row.name.startsWith(number))
          nodes.set(key, { row: { ...row, name: `${now.name}: ${row.name.slice(number.length)}` }, parts });
      nodes.set(now.key, { row: now, parts: [] });
    }
  }
  // That it waits for its children is told by their bars.
  for (const wait of waits)
    if (wait.kind !== 'children' && !nodes.has(wait.key)) nodes.set(wait.key, { row: waitRow(wait), parts: [] });
  addOpenNodes(task, nodes);
  const top: Node[] = [];
  for (const [key, node] of nodes) {
    let parent = key;
    do parent = parent.slice(0, Math.max(0, parent.lastIndexOf('/')));
    while (parent !== '' && !nodes.has(parent));
    (nodes.get(parent)?.parts ?? top).push(node);
  }
  // A step that waited for its parts is written by the attempt that went on with it: it began with the first of them.
  for (const node of [...nodes.values()].sort((a, b) => b.row.key.length - a.row.key.length)) {
    node.parts.sort(byTime);
    const from = Math.min(node.row.from, ...node.parts.slice(0, 1).map(({ row }) => row.from));
    if (from < node.row.from) node.row = { ...node.row, from };
  }
  return top.sort(byTime);
}

/** What a workflow in code notes beside its calls: that a child has ended, until when it waits, what came early, that a step has begun. */
const NOTE = /^w:\d{6,}\/(?:end|due|kept|(begun)):(.+)$/;

/** Bars say it better. That a step has begun is told as long as nothing else is. */
function withoutNotes(steps: readonly Step[]): readonly Step[] {
  const places = new Set(
    steps.flatMap(({ key }) => (key.startsWith('w:') && !NOTE.test(key) ? [key.slice(key.indexOf('/') + 1)] : [])),
  );
  return steps.filter(({ key }) => {
    const [note, begun, place = ''] = NOTE.exec(key) ?? [];
    return note === undefined || (begun !== undefined && !places.has(place));
  });
}

/** The task of a node of a graph: its node is in the journal only when all its tasks have ended. */
const NODE_TASK = /^(n:\d+)\/\d+$/;

function addOpenNodes(task: string, nodes: Map<string, Node>): void {
  const open = new Map<string, Node['row'][]>();
  for (const [key, { row }] of nodes) {
    const [, node] = NODE_TASK.exec(key) ?? [];
    if (node !== undefined && !nodes.has(node)) open.set(node, [...(open.get(node) ?? []), row]);
  }
  for (const [key, parts] of open) {
    // A node with one task is that task until it has ended.
    const [first] = parts;
    if (first === undefined || parts.length === 1) continue;
    const ends = parts.map(({ until }) => until);
    const over = ends.every((end) => end !== undefined);
    const row: Node['row'] = {
      task,
      key,
      kind: 'step',
      name: first.name.replace(/ \(\d+\)$/, ''),
      via: [],
      tone: parts.some(({ tone }) => tone === 'failed') ? 'failed' : over ? 'completed' : 'running',
      from: parts.reduce((least, { from }) => Math.min(least, from), first.from),
      until: over ? ends.reduce<number>((last, end) => Math.max(last, end ?? 0), 0) : undefined,
      child: undefined,
      of: undefined,
    };
    nodes.set(key, { row, parts: [] });
  }
}

const KEYS = new Intl.Collator('en', { numeric: true });

/** What began together stands in the order of keys, so that no row moves when another ends. */
const byTime = (a: Node, b: Node): number => a.row.from - b.row.from || KEYS.compare(a.row.key, b.row.key);

function rowOf(step: Step, waiting: ReadonlySet<string>, all: readonly Step[]): Node['row'] {
  const { task, key, kind, name, via = [], passed = [], began, at, child } = step;
  return {
    task,
    key,
    kind,
    name,
    via: [...via, ...passed],
    tone: toneOf(step, waiting.has(key)),
    from: began ?? at,
    until: endOf(step, waiting.has(key), all),
    child,
    of: step,
  };
}

function toneOf({ kind, state }: Step, waits: boolean): string {
  switch (kind) {
    case 'child':
      return state ?? 'ready';
    case 'wait':
      return waits ? 'waiting' : 'ready';
    case 'attempt':
      return state ?? 'cancelled';
    case 'element':
    case 'mark':
      return 'scheduled';
    default:
      return 'completed';
  }
}

/** A child is written down when it is started. Its end is known from the node, or from the step that has waited for it. */
function endOf({ kind, key, began, at, ended, state }: Step, waits: boolean, all: readonly Step[]): number | undefined {
  if (ended !== undefined) return ended;
  if (kind === 'wait' && waits) return undefined;
  if (kind === 'attempt' && state !== undefined && !isFinal(state)) return undefined;
  if (kind !== 'child') return at;
  if (state === undefined || !isFinal(state)) return undefined;
  const parent = key.slice(0, Math.max(0, key.lastIndexOf('/')));
  return all.find((one) => one.key === parent && one.kind === 'step')?.at ?? Math.max(began ?? at, at);
}

/** The state in which the machine is, until it is in the journal. */
function underWay(run: Standing, steps: readonly Step[], nodes: ReadonlyMap<string, Node>): Node['row'] | undefined {
  if (isFinal(run.state) || run.current === undefined || run.startedAt === undefined) return undefined;
  const key = run.step === undefined ? 'now' : stepKey(run.step);
  if (nodes.has(key)) return undefined;
  const last = steps.reduce((at, step) => (step.kind === 'step' ? Math.max(at, step.at) : at), run.startedAt);
  return {
    task: run.id,
    key,
    kind: 'step',
    name: run.current,
    via: [],
    tone: run.state,
    from: last,
    until: undefined,
    child: undefined,
    of: undefined,
  };
}

function waitRow({ task, key, kind, since, channel, title }: Wait): Node['row'] {
  const name = title ?? (channel === undefined ? kind : `${kind} ${channel}`);
  return {
    task,
    key,
    kind: 'wait',
    name,
    via: [],
    tone: 'waiting',
    from: since,
    until: undefined,
    child: undefined,
    of: undefined,
  };
}

/** The rows in which the machine of the run was in a state. */
export function isIn({ task, name, via, kind }: StepRow, run: string, state: string): boolean {
  return task === run && kind === 'step' && (name === state || via.includes(state));
}

/** Whether there is more to read of it. An attempt is in no journal. */
export const hasDetail = ({ of, kind }: StepRow): boolean => of !== undefined && kind !== 'attempt';

/** Rows in which something was done: no waits, and of a step that has parts the parts. */
export function workIn(rows: readonly StepRow[]): readonly StepRow[] {
  return rows.filter((row, i) => {
    const isWhole = (rows[i + 1]?.level ?? 0) <= row.level;
    const waits = row.kind === 'wait' || (row.of === undefined && row.tone === 'waiting');
    return isWhole && !waits && row.kind !== 'attempt';
  });
}

/** How long a row took, or has taken until now. */
export const tookOf = ({ from, until }: StepRow, now: number): number => Math.max(0, (until ?? now) - from);

/** What a step is as a word. */
const KINDS: Readonly<Record<string, string>> = {
  step: 'step',
  element: 'part',
  mark: 'mark',
  wait: 'wait',
  child: 'child',
  signal: 'signal',
  attempt: 'attempt',
};

export const kindWord = (kind: string): string => KINDS[kind] ?? kind;

/** What stands beside the name: the number of a step of a machine, or what else it is. */
export function besideName({ kind, key }: Pick<StepRow, 'kind' | 'key'>): string {
  if (kind !== 'step') return kindWord(kind);
  const [, number] = /^s:0*(\d+)$/.exec(key) ?? [];
  return number === undefined ? '' : Number(number).toLocaleString('en');
}
