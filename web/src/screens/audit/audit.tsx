/** The screen of the audit: who did what to whom, from where, and how it ended. */

import { useState } from 'react';
import type { AuditEntry } from '../../api.ts';
import { setQuery, useLocation } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Command } from '../../ui/buttons.tsx';
import { Page } from '../../ui/layout.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { type Column, VirtualTable } from '../../ui/virtual-table.tsx';
import { EntryDrawer } from './entry-drawer.tsx';
import { type AuditFilter, useAudit } from './use-audit.ts';
import { actionWords, Outcome, Who } from './words.tsx';

const TEXTS = ['actor', 'action', 'target'] as const;
const LABELS = { actor: 'Who', action: 'Action', target: 'Target' };
const FACES = ['http', 'ui', 'mcp', 'rpc', 'a2a', 'cli-on-the-store', 'library'] as const;
const OUTCOMES = ['done', 'refused', 'failed', 'began'] as const;

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: 'When', track: '110px', cell: ({ at }) => <Time at={at} /> },
  { head: 'Who', track: 'minmax(140px, 2fr)', cell: (entry) => <Who of={entry} /> },
  { head: 'Action', track: 'minmax(120px, 1fr)', cell: ({ action }) => actionWords(action) },
  { head: 'Target', track: 'minmax(120px, 2fr)', cell: ({ target }) => target || <span className="quiet">–</span> },
  { head: 'Outcome', track: 'minmax(120px, 1fr)', cell: (entry) => <Outcome of={entry} /> },
  {
    head: 'From',
    track: 'minmax(120px, 1fr)',
    cell: ({ face, address = '' }) => (
      <span>
        {face} <span className="quiet">{address}</span>
      </span>
    ),
  },
];

export default function Audit() {
  return useMay('admin') ? (
    <AdminAudit />
  ) : (
    <Page title="Audit">
      <Empty icon="audit" title="Only an admin sees who did what">
        <p>Log in with a token of the role admin.</p>
      </Empty>
    </Page>
  );
}

function AdminAudit() {
  const search = new URLSearchParams(useLocation().query);
  const filter = filterOf(search);
  const { rows, error, more } = useAudit(filter);
  const [open, setOpen] = useState<number>();
  const opened = rows?.find(({ id }) => id === open);
  return (
    <Page
      title="Audit"
      about="Who did what: every administrative action, refused ones too. New entries appear by themselves."
    >
      <Filters search={search} />
      {error !== undefined && <ErrorNote error={error} />}
      {rows === undefined ? (
        error === undefined && <Loading />
      ) : rows.length === 0 ? (
        <div className="panel">
          <Empty icon="audit" title={search.size === 0 ? 'Nobody has changed anything yet' : 'No entry matches'}>
            <p>
              A pause, a purge, a new token, a limit that is changed: each is told here, with what it was and became.
            </p>
            <Command text="npx leasehold audit --since 24h" />
          </Empty>
        </div>
      ) : (
        <VirtualTable
          label="Audit"
          rows={rows}
          keyOf={({ id }) => String(id)}
          columns={COLUMNS}
          height={36}
          narrowHeight={64}
          narrow={(entry) => <NarrowRow entry={entry} />}
          onOpen={({ id }) => setOpen(id)}
          onEnd={more}
        />
      )}
      {opened !== undefined && <EntryDrawer entry={opened} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

function NarrowRow({ entry }: { readonly entry: AuditEntry }) {
  return (
    <span className="stack tight">
      <span>
        <b>{actionWords(entry.action)}</b> {entry.target}
      </span>
      <span>
        <Who of={entry} /> · <Outcome of={entry} /> · <Time at={entry.at} />
      </span>
    </span>
  );
}

function Filters({ search }: { readonly search: URLSearchParams }) {
  const set = (name: string, value: string): void => {
    const next = new URLSearchParams(search);
    if (value === '') next.delete(name);
    else next.set(name, value);
    setQuery(next.toString());
  };
  return (
    <div className="filterbar">
      {TEXTS.map((name, i) => (
        <input
          key={name}
          {...(i === 0 ? { 'data-filter': true } : {})}
          className="input"
          style={{ width: '10rem' }}
          type="search"
          maxLength={200}
          aria-label={LABELS[name]}
          placeholder={LABELS[name]}
          value={search.get(name) ?? ''}
          onChange={(event) => set(name, event.target.value)}
        />
      ))}
      <Choice name="outcome" label="Outcome" of={OUTCOMES} search={search} onSet={set} />
      <Choice name="face" label="Way" of={FACES} search={search} onSet={set} />
    </div>
  );
}

function Choice(props: {
  readonly name: string;
  readonly label: string;
  readonly of: readonly string[];
  readonly search: URLSearchParams;
  readonly onSet: (name: string, value: string) => void;
}) {
  const { name, label, of, search, onSet } = props;
  return (
    <select
      className="input"
      style={{ width: 'auto' }}
      aria-label={label}
      value={search.get(name) ?? ''}
      onChange={(event) => onSet(name, event.target.value)}
    >
      <option value="">{label} …</option>
      {of.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

/** What is in the address, as far as it is a filter. */
function filterOf(search: URLSearchParams): AuditFilter {
  const texts = TEXTS.flatMap((name) => {
    const value = search.get(name);
    return value === null || value === '' ? [] : [[name, value] as const];
  });
  const outcome = OUTCOMES.find((one) => one === search.get('outcome'));
  const face = FACES.find((one) => one === search.get('face'));
  return { ...Object.fromEntries(texts), ...(outcome && { outcome }), ...(face && { face }) };
}
