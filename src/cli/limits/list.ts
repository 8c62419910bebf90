import { loadConfig } from '../../config/load.ts';
import type { LimitView } from '../../operate/views.ts';
import { isFull, rateText } from '../display/limit-words.ts';
import type { Out } from '../display/out.ts';
import { type Column, printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { formatCount } from '../kit/figures.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

/** `leasehold limits list`. */
export const list: Command = {
  name: 'limits list',
  doc: 'List limits, what they allow, what is in use and what waits',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'limits list', does: 'which limits there are, and which are full' },
    { line: 'limits list --json', does: 'one limit a line, for programs' },
  ],

  run(args) {
    return showList<LimitView>(loadConfig(list, args), {
      read: (operator) => operator.call('listLimits').then(({ limits }) => limits),
      show(limits, out) {
        printList(out, columns(out, Date.now(), limits), limits);
        if (out.mode === 'screen' && limits.length === 0)
          out.note('No limits yet: "leasehold limits set NAME --concurrent 4" makes one.');
      },
      keyOf: ({ name }) => name,
    });
  },
};

const NONE = '–';

function columns(out: Out, now: number, limits: readonly LimitView[]): readonly Column<LimitView>[] {
  const bound = (head: string, value: (limit: LimitView) => number | string | undefined): Column<LimitView> => ({
    head,
    cell: (limit) => String(value(limit) ?? NONE),
    show: (limit) => {
      const one = value(limit);
      return typeof one === 'number' ? formatCount(one) : (one ?? NONE);
    },
    right: true,
  });
  const bounds = [
    bound('at once', ({ concurrent }) => concurrent),
    bound('per key', ({ perKey }) => perKey),
    bound('rate', ({ rate }) => rate && rateText(rate)),
    bound('cost', ({ cost }) => cost && rateText(cost)),
    { head: 'when full', cell: ({ strategy }: LimitView) => strategy },
    bound('backlog', ({ backlog }) => backlog),
  ];
  // On a terminal, room is dearer than a column in which nothing stands.
  const used =
    out.mode === 'screen' ? bounds.filter(({ cell }) => limits.some((limit) => cell(limit) !== NONE)) : bounds;
  return [
    {
      head: 'limit',
      cell: ({ name }) => name,
      paint: (limit, text) => (isFull(limit) ? out.paint('yellow', text) : text),
    },
    ...used,
    {
      head: 'active',
      cell: ({ active }) => String(active),
      show: (limit) => `${formatCount(limit.active)}${isFull(limit) ? ' ▪ full' : ''}`,
      paint: (limit, text) => (isFull(limit) ? out.paint('yellow', text) : text),
    },
    {
      head: 'waiting',
      cell: ({ waiting }) => String(waiting),
      show: ({ waiting }) => formatCount(waiting),
      right: true,
    },
    {
      head: 'changed',
      cell: ({ changedAt }) => new Date(changedAt).toISOString(),
      show: ({ changedAt, changedBy }) =>
        `${formatRelative(changedAt, now)}${changedBy === '' ? '' : ` by ${changedBy}`}`,
    },
    ...(out.mode === 'screen' ? [] : [{ head: 'by', cell: ({ changedBy }: LimitView) => changedBy || NONE }]),
  ];
}
