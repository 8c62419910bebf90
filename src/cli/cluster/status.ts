import { loadConfig } from '../../config/load.ts';
import type { ClusterView, NodeView } from '../../operate/views.ts';
import { type Format, type Out, outFor } from '../display/out.ts';
import { type Column, printTable } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { formatUptime } from '../kit/figures.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';

/** `leasehold cluster status`. */
export const status: Command = {
  name: 'cluster status',
  doc: 'Show the nodes on a store, which of them leads, and which hold the duties',
  args: [],
  options: ['staleThreshold', 'nodeDeadThreshold', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'cluster status', does: 'the nodes, the leader, and whether anything is wrong' },
    { line: 'cluster status --json', does: 'one object, as GET /api/v1/cluster answers' },
  ],

  async run(args) {
    const config = loadConfig(status, args);
    const out = outFor(config);
    const cluster = await withOperator(config, (operator) => operator.call('getCluster'));
    if (out.mode === 'json') out.json(cluster);
    else tell(cluster, out);
    return EXIT.fine;
  },
};

function tell({ leader, nodes, duties }: ClusterView, out: Out): void {
  const now = Date.now();
  printTable(out, columns(out, now), nodes);
  if (out.mode !== 'screen') return;
  if (nodes.length === 0) out.note('No nodes: "leasehold up" starts one.');
  const since = leader?.since === undefined ? '' : `, for ${formatUptime(Math.max(0, now - leader.since))}`;
  out.line(leader === undefined ? 'No node leads.' : `${leader.node} leads (epoch ${leader.epoch}${since}).`);
  const free = duties.filter(({ holder }) => holder === undefined).map(({ name }) => name);
  if (free.length > 0) out.line(out.paint('yellow', `Duties without a holder: ${free.join(', ')}.`));
  const others = duties.filter(({ holder }) => holder !== undefined && holder !== leader?.node);
  for (const { name, holder } of others) out.line(`${name} is held by ${holder}, which does not lead.`);
}

const STATE_STYLES: Readonly<Record<NodeView['state'], readonly [symbol: string, colour: Format]>> = {
  healthy: ['●', 'green'],
  stale: ['◒', 'yellow'],
  dead: ['✗', 'red'],
  left: ['○', 'dim'],
};

function columns(out: Out, now: number): readonly Column<NodeView>[] {
  return [
    { head: 'node', cell: ({ id }) => id },
    {
      head: 'state',
      cell: ({ state }) => state,
      show: ({ state }) => `${STATE_STYLES[state][0]} ${state}`,
      paint: ({ state }, text) => out.paint(STATE_STYLES[state][1], text),
    },
    {
      head: 'role',
      cell: ({ role }) => role,
      paint: ({ role }, text) => (role === 'leader' ? out.paint('bold', text) : text),
    },
    { head: 'asked', cell: ({ wish, override }) => (override === 'auto' ? wish : `${override} (started as ${wish})`) },
    { head: 'address', cell: ({ address }) => address ?? '–' },
    { head: 'host', cell: ({ host }) => host ?? '–' },
    { head: 'pid', cell: ({ pid }) => (pid === undefined ? '–' : String(pid)), right: true },
    {
      head: 'seen',
      cell: ({ silentMs }) => new Date(now - silentMs).toISOString(),
      show: ({ silentMs }) => formatRelative(now - silentMs, now),
    },
    { head: 'version', cell: ({ version }) => version ?? '–' },
  ];
}
