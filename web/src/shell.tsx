/** The frame around every screen: menu, keys, banner, toasts. */

import { type ReactNode, useEffect, useRef, useState } from 'react';
import { client } from './api.ts';
import { feedState } from './live/feed.ts';
import { useResource } from './live/resource.ts';
import { useSignal } from './live/signal.ts';
import { go, Link, useLocation } from './router.tsx';
import { useMay, useMe } from './session.ts';
import { setTheme, theme } from './theme.ts';
import { Button } from './ui/buttons.tsx';
import { Dialog } from './ui/dialog.tsx';
import { Icon, type IconName } from './ui/icon.tsx';
import { allKeys, type Key, useKeys } from './ui/keys.ts';
import { Duration } from './ui/times.tsx';
import { Toasts } from './ui/toast.tsx';

interface Entry {
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
  /** The letter after `g`. */
  readonly key: string;
  /** Only callers with this role see it. */
  readonly role?: 'admin';
}

const ENTRIES: readonly (readonly Entry[])[] = [
  [
    { to: '/', name: 'Overview', icon: 'overview', key: 'o' },
    { to: '/tasks', name: 'Tasks', icon: 'tasks', key: 't' },
    { to: '/runs', name: 'Runs', icon: 'runs', key: 'r' },
    { to: '/artifacts', name: 'Artifacts', icon: 'files', key: 'b' },
    { to: '/failed', name: 'Failed', icon: 'failed', key: 'f' },
    { to: '/approvals', name: 'Approvals', icon: 'approvals', key: 'a' },
  ],
  [
    { to: '/queues', name: 'Queues', icon: 'queues', key: 'q' },
    { to: '/workers', name: 'Workers', icon: 'workers', key: 'w' },
    { to: '/pools', name: 'Pools', icon: 'pools', key: 'p' },
    { to: '/limits', name: 'Limits', icon: 'limits', key: 'l' },
    { to: '/schedules', name: 'Schedules', icon: 'schedules', key: 'd' },
    { to: '/triggers', name: 'Triggers', icon: 'triggers', key: 'i' },
  ],
  [
    { to: '/cluster', name: 'Cluster', icon: 'cluster', key: 'c' },
    { to: '/credentials', name: 'Credentials', icon: 'key', key: 'k', role: 'admin' },
    { to: '/events', name: 'Events', icon: 'events', key: 'e' },
    { to: '/audit', name: 'Audit', icon: 'audit', key: 'u', role: 'admin' },
    { to: '/settings', name: 'Settings', icon: 'settings', key: 's' },
  ],
];

/** The screens that this caller may see. */
function useEntries(): readonly (readonly Entry[])[] {
  const admin = useMay('admin');
  return ENTRIES.map((group) => group.filter(({ role }) => role === undefined || admin));
}

export function Shell({ children }: { readonly children: ReactNode }) {
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  const may = useMay('operator');
  const entries = useEntries();
  const { path } = useLocation();
  const keys: Key[] = [
    { keys: '?', does: 'Show this list', group: 'Everywhere', run: () => setHelp(true) },
    {
      keys: '/',
      does: 'Go to the filter',
      group: 'Everywhere',
      run: () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    },
    { keys: 't', does: 'Switch between light and dark', group: 'Everywhere', run: turnTheme },
    ...(may ? [{ keys: 'p', does: 'Push a task', group: 'Everywhere', run: () => go('/push') }] : []),
    ...entries.flat().map(({ key, name, to }) => ({ keys: `g ${key}`, does: name, group: 'Go to', run: () => go(to) })),
  ];
  useKeys(keys);
  useEffect(() => setMenu(false), [path]);
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <div className="shell">
        <header className="side">
          <Side onHelp={() => setHelp(true)} />
        </header>
        <header className="topbar">
          <Button kind="plain" icon="menu" aria-label="Menu" onClick={() => setMenu(true)} />
          <Link to="/" className="brand">
            <Mark />
            Leasehold
          </Link>
          {may && <Button kind="plain" icon="plus" aria-label="Push a task" onClick={() => go('/push')} />}
        </header>
        <main className="main" id="main">
          <ConnectionBanner />
          {children}
        </main>
      </div>
      {menu && <NavDrawer onClose={() => setMenu(false)} onHelp={() => setHelp(true)} />}
      {help && <Help onClose={() => setHelp(false)} />}
      <Toasts />
    </>
  );
}

function turnTheme(): void {
  const dark = theme.value === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.value === 'dark';
  setTheme(dark ? 'light' : 'dark');
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <circle cx="12.5" cy="16" r="5" fill="none" stroke="var(--accent-ink)" strokeWidth="3" />
      <path d="M17.5 16H27m-3.6 0v4.2" fill="none" stroke="var(--accent-ink)" strokeWidth="3" strokeLinecap="round" />
    </svg>
  );
}

function Side({ onHelp }: { readonly onHelp: () => void }) {
  const { path } = useLocation();
  const me = useMe();
  const entries = useEntries();
  const may = useMay('operator');
  const { connection } = useSignal(feedState);
  // Counts beside the menu entries; the overview already has them.
  const { data } = useResource('overview', (signal) => client.call('overview', { signal }), {
    everyMs: 15_000,
    on: ({ kind }) => kind === 'failed' || kind === 'parked' || kind === 'woken',
    atMostMs: 3_000,
  });
  const counts: Readonly<Record<string, readonly [number, string]>> = {
    '/approvals': [data?.approvals ?? 0, 'loud'],
    '/tasks': [data?.tasks.running ?? 0, ''],
  };
  return (
    <>
      <Link to="/" className="brand">
        <Mark />
        Leasehold
      </Link>
      {may && (
        <Button kind="primary" icon="plus" onClick={() => go('/push')}>
          Push a task
        </Button>
      )}
      <nav className="nav" aria-label="Screens">
        {entries.map((group) => (
          <ul key={group[0]?.to}>
            {group.map(({ to, name, icon, key }) => {
              const [count, tone] = counts[to] ?? [0, ''];
              const here = to === '/' ? path === '/' || path === '/login' : path === to || path.startsWith(`${to}/`);
              return (
                <li key={to}>
                  <Link to={to} aria-current={here ? 'page' : undefined} title={`g ${key}`}>
                    <Icon name={icon} />
                    {name}
                    {count > 0 && (
                      <span className={`count ${tone}`} title={to === '/tasks' ? 'running' : 'to decide'}>
                        {count}
                      </span>
                    )}
                  </Link>
                </li>
              );
            })}
          </ul>
        ))}
      </nav>
      <div className="foot">
        <div className="row">
          <span
            className={`dot s-${connection === 'live' ? 'online' : connection === 'lost' ? 'attention' : 'offline'}`}
          />
          <span className="grow cut">
            {connection === 'live'
              ? 'Live'
              : connection === 'lost'
                ? 'Reconnecting'
                : connection === 'paused'
                  ? 'Paused'
                  : 'Connecting'}
          </span>
          <Button kind="plain" small icon="help" aria-label="Keys" title="Keys (?)" onClick={onHelp} />
        </div>
        <span className="cut" title={`${me.node.address}, ${me.node.store}`}>
          {me.name} · {me.role} · {me.node.version}
        </span>
      </div>
    </>
  );
}

function NavDrawer({ onClose, onHelp }: { readonly onClose: () => void; readonly onHelp: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => ref.current?.showModal(), []);
  return (
    <dialog
      ref={ref}
      className="navdrawer"
      aria-label="Menu"
      onCancel={onClose}
      onClick={(event) => {
        if (event.target === ref.current || (event.target as HTMLElement).closest('a')) onClose();
      }}
    >
      <div className="side">
        <Side
          onHelp={() => {
            onClose();
            onHelp();
          }}
        />
      </div>
    </dialog>
  );
}

/** Says that the node is unreachable, and since when. */
function ConnectionBanner() {
  const { connection, since } = useSignal(feedState);
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (connection !== 'lost') return;
    const timer = setTimeout(() => setLate(true), 1200);
    return () => clearTimeout(timer);
  }, [connection]);
  if (connection !== 'lost' || !late) return null;
  return (
    <div className="banner" role="status">
      <Icon name="retry" size={14} />
      <span>
        The node has been out of reach for <Duration from={since} />. This page shows what was before. It reconnects by
        itself and misses nothing.
      </span>
    </div>
  );
}

function Help({ onClose }: { readonly onClose: () => void }) {
  const groups = Map.groupBy(allKeys(), ({ group }) => group);
  return (
    <Dialog title="Keys" onClose={onClose} kind="dialog wide">
      {[...groups].map(([group, keys]) => (
        <section key={group} className="stack tight">
          <h3>{group}</h3>
          <dl className="keys">
            {keys.map(({ keys: combo, does }) => (
              <div key={combo}>
                <dt>{does}</dt>
                <dd>
                  {combo.split(' ').map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
