import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import type { Operator } from '../../operate/operator.ts';
import type { AuditEntryView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { type Column, printList } from '../display/table.ts';
import { formatTime, formatWhen } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

const PAGE = 500;

/** `leasehold audit`. */
export const audit: Command = {
  name: 'audit',
  doc: 'Show who did what: administrative actions, the newest first',
  args: [],
  options: ['auditActor', 'auditAction', 'auditTarget', 'since', 'limit', 'follow', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'audit --since 24h', does: 'what was done today' },
    { line: 'audit --actor anna --action purgeQueue', does: 'which queues anna has purged' },
    {
      line: 'audit --target papers --json',
      does: 'all about one thing, one entry a line, with what it was and became',
    },
    { line: 'audit -f', does: 'the newest, and then those that come' },
  ],

  run(args) {
    const config = loadConfig(audit, args);
    return showList<AuditEntryView>(
      { ...config, watch: config.follow },
      {
        read: (operator) => entriesOf(operator, config),
        show(entries, out) {
          printList(out, columns(out, Date.now()), entries);
          if (out.mode === 'screen' && entries.length === 0) out.note(out.paint('dim', NONE));
        },
        keyOf: ({ id }) => String(id),
      },
    );
  },
};

const NONE = 'Nobody has done anything of that kind here.';

async function entriesOf(operator: Operator, config: Config): Promise<readonly AuditEntryView[]> {
  const { auditActor: actor, auditAction: action, auditTarget: target, since: within, limit } = config;
  const since = within === undefined ? undefined : Math.floor(Date.now() - within);
  const found: AuditEntryView[] = [];
  for (let cursor: string | undefined; found.length < limit; ) {
    const query = { actor, action, target, since, cursor, limit: Math.min(PAGE, limit - found.length) };
    const page = await operator.call('listAudit', { query });
    found.push(...page.entries);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return found;
}

function columns(out: Out, now: number): readonly Column<AuditEntryView>[] {
  return [
    { head: 'when', cell: ({ at }) => formatTime(at), show: ({ at }) => formatWhen(at, now) },
    { head: 'who', cell: ({ actor, by }) => (by === undefined ? actor : `${actor} (${by})`) },
    { head: 'role', cell: ({ role }) => role },
    { head: 'action', cell: ({ action }) => action },
    { head: 'target', cell: ({ target }) => target },
    {
      head: 'outcome',
      cell: ({ outcome, code, times }) =>
        [outcome, code, times === undefined ? '' : `×${times}`].filter(Boolean).join(' '),
      paint: ({ outcome }, text) => (outcome === 'done' ? text : out.paint('yellow', text)),
    },
    { head: 'by', cell: ({ face }) => face },
    { head: 'from', cell: ({ address = '' }) => address, rest: true },
  ];
}
