import { loadCall } from '../../config/load.ts';
import type { PoolDetailView, PoolTicketView } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { boundsText, courseText, NAME, reasonsText, staffText, workText } from './words.ts';

const TICKETS = 10;

/** `leasehold pools show POOL`. */
export const show: Command = {
  name: 'pools show',
  doc: 'Show one pool: its policy, what a check would do now, and its last starts',
  args: [NAME],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'pools show papers', does: 'how many workers there are and why' },
    { line: 'pools show papers --json', does: 'the same, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [name] = words as [string];
    const out = outFor(config);
    const [pool, tickets] = await withOperator(config, async (operator) => {
      const found = await operator.call('getPool', { params: { name } });
      const { tickets } = await operator.call('listPoolTickets', { params: { name }, query: { limit: TICKETS } });
      return [found, tickets] as const;
    });
    if (out.mode === 'json') out.json({ ...pool, tickets });
    else tell(pool, tickets, out);
    return EXIT.fine;
  },
};

function tell(pool: PoolDetailView, tickets: readonly PoolTicketView[], out: Out): void {
  const { now, policy, worker, launcher, queues } = pool;
  const row = (head: string, text: string): void => out.line(`  ${out.paint('dim', head.padEnd(9))} ${text}`);
  out.line(pool.name);
  row('queues', queues.join(', '));
  row('size', boundsText(pool));
  row('worker', `${worker.life}, ${worker.slots} ${worker.slots === 1 ? 'slot' : 'slots'}, by ${launcher.kind}`);
  row(
    'policy',
    Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  );
  row('workers', staffText(now));
  row('tasks', workText(now));
  row('next', courseText(now));
  if (now.reasons.length > 0) row('why', reasonsText(now.reasons));
  for (const { at, state, started, error, worker: by } of tickets) {
    const said = safeLine(error ?? by ?? started ?? '');
    row(state, `${formatRelative(at, Date.now())}${said === '' ? '' : `: ${said}`}`);
  }
}
