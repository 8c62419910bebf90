import type { RunDetailView, RunStepView, RunWaitView } from '../../operate/views.ts';
import { errorLine } from '../display/error-line.ts';
import type { Out } from '../display/out.ts';
import { safeJson, safeLine } from '../display/safe.ts';
import { paintState, stateText } from '../display/state.ts';
import { formatTook, formatWhen } from '../display/time.ts';
import { clip, widthOf } from '../display/width.ts';

type PageOut = Pick<Out, 'paint' | 'columns'>;

/** Everything about a run, for people. */
export function describeRun(
  run: RunDetailView,
  steps: { readonly steps: readonly RunStepView[]; readonly more: boolean },
  out: PageOut,
  now: number,
): readonly string[] {
  return [
    `${out.paint('bold', safeLine(run.name ?? run.id))}  ${safeLine(run.title)}`,
    ...fieldsOf(run, now).map(([name, text]) => `  ${out.paint('dim', name.padEnd(9))} ${text}`),
    ...statesOf(run, out),
    ...stepsOf(steps, out, now),
    ...outcomeOf(run, out),
    '',
    ...nextOf(run).map((line, i) => `${i === 0 ? 'Next: ' : '      '}${line}`),
  ];

  function fieldsOf(one: RunDetailView, at: number): readonly (readonly [string, string])[] {
    const { members, totals, definition, forkedFrom, root, parent, createdAt, finishedAt } = one;
    // Its task is started anew by each attempt.
    const took = finishedAt === undefined ? '' : `, took ${formatTook(finishedAt - createdAt)}`;
    const tasks = Object.values(members).reduce((sum: number, count) => sum + (count ?? 0), 0);
    const used = [
      totals.apiCalls > 0 ? `${totals.apiCalls} calls` : '',
      totals.tokens > 0 ? `${totals.tokens.toLocaleString('en')} tokens` : '',
      totals.cost > 0 ? `$${totals.cost.toFixed(4)}` : '',
    ].filter((text) => text !== '');
    const all: readonly (readonly [string, string | undefined])[] = [
      ['state', `${paintState(out, one.state, stateText(one.state))}: ${safeLine(one.summary)}`],
      ['id', one.id],
      ['queue', `${one.queue}, handler ${one.handler}`],
      ['created', formatWhen(one.createdAt, at)],
      ['ended', finishedAt === undefined ? undefined : `${formatWhen(finishedAt, at)}${took}`],
      [
        'tasks',
        tasks <= 1
          ? undefined
          : Object.entries(members)
              .map(([state, n]) => `${n} ${state}`)
              .join(', '),
      ],
      ['used', used.length === 0 ? undefined : `${used.join(', ')}${totals.partial === true ? ' and more' : ''}`],
      ['budget', budgetWords(one)],
      [
        'labels',
        Object.entries(one.labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(', ') || undefined,
      ],
      [one.kind, definition === undefined ? undefined : definition.slice(0, 12)],
      ['fork of', forkedFrom],
      ['part of', root],
      ['parent', parent === root ? undefined : parent],
    ];
    return all.flatMap(([name, text]) =>
      text === undefined ? [] : [[name, name === 'state' ? text : safeLine(text)] as const],
    );
  }
}

function budgetWords({ budgets }: RunDetailView): string | undefined {
  if (budgets.length === 0) return undefined;
  return budgets
    .map(({ unit, taken, hard, soft, waiting }) => {
      const bound = hard ?? soft;
      return `${taken}${bound === undefined ? '' : ` of ${bound}`} ${unit}${waiting ? ' (a task waits for more)' : ''}`;
    })
    .join(', ');
}

/** The states of the machine, the one in which it is with an arrow. */
function statesOf({ states = [], current, state }: RunDetailView, { paint }: PageOut): readonly string[] {
  if (states.length === 0) return [];
  const names = Math.max(...states.map(({ name }) => widthOf(safeLine(name))));
  const over = isOver(state);
  return [
    '',
    paint('dim', '  states'),
    ...states.map(({ name, type, does, to, onError, visits }) => {
      const here = name === current;
      const mark = here
        ? paint(over ? 'bold' : 'cyan', over ? '■' : '▶')
        : type === 'final'
          ? '□'
          : visits > 0
            ? '●'
            : '○';
      const safe = safeLine(name);
      const text = safe + ' '.repeat(names - widthOf(safe));
      const ways = [...new Set([...to.map((one) => one.state), ...onError.map((one) => `!${one}`)])];
      const remarks = [
        does === 'nothing' ? '' : does,
        visits > 1 ? `${visits} times` : '',
        ways.length === 0 ? '' : `→ ${safeLine(ways.join(', '))}`,
      ].filter((remark) => remark !== '');
      return `    ${mark} ${here ? paint('bold', text) : text}  ${paint('dim', remarks.join('  '))}`.trimEnd();
    }),
  ];
}

export function isOver(state: RunDetailView['state']): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

const BAR = 24;
/** Lines of the waterfall. */
const MOST_STEPS = 40;

function stepsOf(
  { steps, more }: { readonly steps: readonly RunStepView[]; readonly more: boolean },
  { paint, columns }: PageOut,
  now: number,
): readonly string[] {
  const shown = steps.filter(({ kind }) => kind !== 'mark').toSorted((a, b) => beginOf(a) - beginOf(b));
  if (shown.length === 0) return [];
  const last = shown.slice(-MOST_STEPS);
  const [from, to] = [Math.min(...last.map(beginOf)), Math.max(...last.map((step) => endOf(step, now)))];
  const names = Math.min(36, Math.max(...last.map(({ name }) => widthOf(safeLine(name)))));
  const left = shown.length > last.length ? [paint('dim', `    … ${shown.length - last.length} earlier ones`)] : [];
  return [
    '',
    paint('dim', '  steps'),
    ...left,
    ...last.map((step) => {
      const name = clip(safeLine(step.name), names);
      const took = endOf(step, now) - beginOf(step);
      const bar = barOf(beginOf(step), endOf(step, now), from, to);
      const key = columns > 100 ? `  ${paint('dim', safeLine(step.key))}` : '';
      const state = step.state === undefined ? '' : `  ${step.state}`;
      return `    ${name}${' '.repeat(names - widthOf(name))}  ${paint('cyan', bar)} ${formatTook(took).padStart(7)}${state}${key}`;
    }),
    ...(more ? [paint('dim', '    … and more: leasehold runs show RUN --json has all of them')] : []),
  ];
}

const beginOf = ({ began, at }: RunStepView): number => began ?? at;

/** An attempt and a child go on for as long as their task has not ended; a child is written down when it is started. */
function endOf({ kind, state, at, ended }: RunStepView, now: number): number {
  if (ended !== undefined) return ended;
  const goesOn = (kind === 'attempt' || kind === 'child') && state !== undefined && !isOver(state);
  return goesOn ? Math.max(now, at) : at;
}

/** Where it lies between the first and the last time, in fixed width. */
function barOf(begin: number, end: number, from: number, to: number): string {
  const scale = to > from ? BAR / (to - from) : 0;
  const start = Math.min(BAR - 1, Math.floor((begin - from) * scale));
  const length = Math.max(1, Math.min(BAR - start, Math.round((end - begin) * scale)));
  return `${' '.repeat(start)}${'▇'.repeat(length)}${' '.repeat(BAR - start - length)}`;
}

function outcomeOf({ output, error }: RunDetailView, { paint }: PageOut): readonly string[] {
  if (error !== undefined) return ['', `  ${paint('red', 'error')}  ${safeLine(errorLine(error))}`];
  return output === undefined ? [] : ['', `  ${paint('dim', 'output')}  ${safeJson(output)}`];
}

/** What to do about it: commands, or a sentence. */
export function nextOf(run: RunDetailView): readonly string[] {
  const { id, state } = run;
  switch (state) {
    case 'completed':
      return ['nothing to do'];
    case 'failed':
    case 'cancelled':
      return [`leasehold runs retry ${id}`, `leasehold runs fork ${id} --set JSON   (with another context)`];
    case 'waiting': {
      const answers = answersTo(run);
      return answers.length > 0 ? answers : ['nothing to do: it goes on when what it waits for has come'];
    }
    case 'ready':
      return [`leasehold tasks explain ${id}`];
    case 'scheduled':
    case 'running':
      return [`leasehold runs tail ${id}`, `leasehold runs cancel ${id}`];
  }
}

/** Of a run that waits for more, the page shows how it goes. */
const MOST_ANSWERS = 10;

/** What to type so that its waits end, each line once. A budget belongs to the whole run, however many of its tasks wait for it. */
export function answersTo({ id, root = id, waits }: Pick<RunDetailView, 'id' | 'root' | 'waits'>): readonly string[] {
  return [...new Set(waits.flatMap((wait) => answerTo(wait, root)))].slice(0, MOST_ANSWERS);
}

function answerTo({ kind, task, key, channel = '', actions = [] }: RunWaitView, root: string): readonly string[] {
  switch (kind) {
    case 'signal':
      return [`leasehold signal ${shellWord(channel)} JSON`];
    case 'approval':
      return actions.map((action) =>
        action === 'approve' || action === 'reject'
          ? `leasehold ${action} ${task}`
          : `leasehold approve ${task} --action ${shellWord(action)}`,
      );
    case 'budget':
      return [`leasehold runs budget ${root} ${budgetUnit(key)}=AMOUNT`];
    case 'children':
    case 'time':
      return [];
  }
}

/** A wait for a budget is named by its unit. */
const budgetUnit = (key: string): string => /^budget:(\w+)/.exec(key)?.[1] ?? 'UNIT';

function shellWord(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : safeLine(`'${text.replaceAll("'", `'\\''`)}'`);
}
