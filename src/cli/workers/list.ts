import { loadConfig } from '../../config/load.ts';
import type { WorkerSettingView, WorkerView } from '../../operate/views.ts';
import type { Format, Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { type Column, printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';
import { grantWords } from './grant-words.ts';

/** `leasehold workers list`. */
export const list: Command = {
  name: 'workers list',
  doc: 'List workers, where they run and how busy they are',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workers list', does: 'which workers there are, and which were lost' },
    { line: 'workers list --json', does: 'one worker a line, with its handlers and tags' },
  ],

  run(args) {
    let strays: readonly WorkerSettingView[] = [];
    return showList<WorkerView>(loadConfig(list, args), {
      async read(operator, out) {
        const { workers, absent } = await operator.call('listWorkers');
        if (out.mode === 'screen') strays = absent;
        return workers;
      },
      show(workers, out) {
        printList(out, columns(out, Date.now(), workers), workers);
        if (out.mode === 'screen' && workers.length === 0) out.note('No workers yet: "leasehold up" brings one.');
        const bounded = grantNote(workers);
        if (out.mode === 'screen' && bounded !== '') out.note(out.paint('dim', bounded));
        if (strays.length > 0) out.note(out.paint('dim', strayWords(strays)));
      },
      keyOf: ({ id }) => id,
      // A beat is no change.
      comparable: (worker) => ({ ...worker, lastSeenAt: undefined, metrics: undefined }),
    });
  },
};

/** Settings of absent workers: a name that was disabled and forgotten would surprise the next worker under it. */
function strayWords(strays: readonly WorkerSettingView[]): string {
  const words = strays.map(({ name, enabled, priority, tags, grant }) => {
    const said = [
      enabled ? '' : 'disabled',
      priority === undefined ? '' : `priority ${priority}`,
      tags.length === 0 ? '' : `tags ${tags.map(safeLine).join(', ')}`,
      grantWords(grant ?? {}),
    ];
    return `${name} (${said.filter((word) => word !== '').join('; ')})`;
  });
  return `Settings of workers that are not here: ${words.join(', ')}.`;
}

/** What the workers of the list may run, where their names were granted something. */
function grantNote(workers: readonly WorkerView[]): string {
  const words = new Map(workers.flatMap(({ name, grant }) => (grant === undefined ? [] : [[name, grantWords(grant)]])));
  return words.size === 0 ? '' : `Granted: ${[...words].map(([name, grant]) => `${name} (${grant})`).join(', ')}.`;
}

const STATE_STYLES: Readonly<Record<string, readonly [symbol: string, colour: Format]>> = {
  starting: ['◌', 'blue'],
  online: ['●', 'green'],
  draining: ['◒', 'yellow'],
  offline: ['○', 'dim'],
  lost: ['✗', 'red'],
};

const HANDLERS: Column<WorkerView> = { head: 'handlers', cell: ({ handlers }) => handlers.join(','), rest: true };
const PLACING: readonly Column<WorkerView>[] = [
  { head: 'prio', cell: ({ priority }) => String(priority), right: true },
  { head: 'tags', cell: ({ tags }) => tags.join(',') || '–' },
];

/** The total of the name, over all its processes. */
const ENDED: Column<WorkerView> = { head: 'ended', cell: ({ totalTasks }) => String(totalTasks), right: true };
const GRANT: Column<WorkerView> = { head: 'granted', cell: ({ grant = {} }) => grantWords(grant) || '–' };
const ADDRESS: Column<WorkerView> = { head: 'address', cell: ({ address }) => address ?? '–' };

/** What a worker says of itself with its heartbeats. The list has room for the beginning; `--json` has all of it. */
const SAID: Column<WorkerView> = { head: 'says', cell: (worker) => saidBy(worker) || '–' };
const MOST_SAID = 80;

function saidBy({ status, metrics }: WorkerView): string {
  const figures = metrics === undefined ? undefined : JSON.stringify(metrics);
  const words = [status, figures].filter((word) => word !== undefined).join(' ');
  return words.length > MOST_SAID ? `${words.slice(0, MOST_SAID)}…` : words;
}

function columns(out: Out, now: number, workers: readonly WorkerView[]): readonly Column<WorkerView>[] {
  const said = workers.some((worker) => saidBy(worker) !== '') ? [SAID] : [];
  const look = ({ state }: WorkerView): readonly [string, Format] => STATE_STYLES[state] ?? ['?', 'dim'];
  return [
    { head: 'name', cell: ({ name }) => name },
    {
      head: 'state',
      cell: ({ state, enabled }) => (enabled ? state : `${state},disabled`),
      show: (worker) => `${look(worker)[0]} ${worker.state}${worker.enabled ? '' : ' (disabled)'}`,
      paint: (worker, text) => out.paint(look(worker)[1], text),
    },
    { head: 'slots', cell: ({ slots }) => String(slots), right: true },
    { head: 'running', cell: ({ running }) => String(running), right: true },
    { head: 'host', cell: ({ host }) => host ?? '–' },
    { head: 'pid', cell: ({ pid }) => (pid === undefined ? '–' : String(pid)), right: true },
    {
      head: 'seen',
      cell: ({ lastSeenAt }) => new Date(lastSeenAt).toISOString(),
      show: ({ lastSeenAt }) => formatRelative(lastSeenAt, now),
    },
    // In a pipe new columns come last, because scripts count columns.
    ...(out.mode === 'screen'
      ? [ENDED, ...PLACING, ...said, HANDLERS]
      : [HANDLERS, ...PLACING, ENDED, ADDRESS, SAID, GRANT]),
  ];
}
