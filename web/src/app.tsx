/** The app: login or shell, and the screen of the current path. */

import { Component, lazy, type ReactNode, Suspense, useEffect } from 'react';
import { useSignal } from './live/signal.ts';
import { unsegment, useLocation } from './router.tsx';
import { Login } from './screens/login.tsx';
import { Overview } from './screens/overview/overview.tsx';
import { Tasks } from './screens/tasks/tasks.tsx';
import { loadSession, session, startSession } from './session.ts';
import { Shell } from './shell.tsx';
import { Button } from './ui/buttons.tsx';
import { Page } from './ui/layout.tsx';
import { Empty, ErrorNote, Loading } from './ui/states.tsx';
import { Toasts } from './ui/toast.tsx';

// Overview and tasks are in the first chunk, because most people see them first. The others load with their first visit.
const Task = lazy(() => import('./screens/task/task.tsx'));
const Runs = lazy(() => import('./screens/runs/runs.tsx'));
const Run = lazy(() => import('./screens/run/run.tsx'));
const Files = lazy(() => import('./screens/files/files.tsx'));
const Push = lazy(() => import('./screens/push/push.tsx'));
const Queues = lazy(() => import('./screens/queues/queues.tsx'));
const Workers = lazy(() => import('./screens/workers/workers.tsx'));
const Releases = lazy(() => import('./screens/upgrade/upgrade.tsx'));
const Limits = lazy(() => import('./screens/limits/limits.tsx'));
const Schedules = lazy(() => import('./screens/schedules/schedules.tsx'));
const Pools = lazy(() => import('./screens/pools/pools.tsx'));
const Pool = lazy(() => import('./screens/pools/pool.tsx'));
const Triggers = lazy(() => import('./screens/triggers/triggers.tsx'));
const Credentials = lazy(() => import('./screens/credentials/credentials.tsx'));
const Approvals = lazy(() => import('./screens/approvals.tsx'));
const Failed = lazy(() => import('./screens/failed.tsx'));
const Cluster = lazy(() => import('./screens/cluster.tsx'));
const Events = lazy(() => import('./screens/events.tsx'));
const Audit = lazy(() => import('./screens/audit/audit.tsx'));
const Settings = lazy(() => import('./screens/settings/settings.tsx'));

/** The routes: one case for each screen. The checklist for a new screen is docs/checklists/add-a-screen.md. */
function screenOf(path: string): { readonly title: string; readonly screen: ReactNode } {
  const [, first = '', second, more] = path.split('/');
  const name = second === undefined ? undefined : unsegment(second);
  if (more === undefined) {
    switch (first) {
      case '':
      case 'login':
        return { title: 'Overview', screen: <Overview /> };
      case 'tasks':
        return name === undefined
          ? { title: 'Tasks', screen: <Tasks /> }
          : { title: `Task ${name.slice(-8)}`, screen: <Task id={name} key={name} /> };
      case 'runs':
        return name === undefined
          ? { title: 'Runs', screen: <Runs /> }
          : { title: `Run ${name.length > 40 ? name.slice(-8) : name}`, screen: <Run id={name} key={name} /> };
      case 'artifacts':
        return { title: 'Artifacts', screen: <Files id={name} /> };
      case 'push':
        return { title: 'Push a task', screen: <Push /> };
      case 'queues':
        return { title: name ?? 'Queues', screen: <Queues name={name} /> };
      case 'workers':
        return { title: name ?? 'Workers', screen: <Workers name={name} /> };
      case 'releases':
        return { title: 'Releases', screen: <Releases /> };
      case 'limits':
        return { title: name ?? 'Limits', screen: <Limits name={name} /> };
      case 'schedules':
        return { title: name ?? 'Schedules', screen: <Schedules name={name} /> };
      case 'pools':
        return name === undefined
          ? { title: 'Pools', screen: <Pools /> }
          : { title: name, screen: <Pool name={name} key={name} /> };
      case 'triggers':
        return { title: name ?? 'Triggers', screen: <Triggers name={name} /> };
      case 'credentials':
        return { title: name ?? 'Credentials', screen: <Credentials name={name} /> };
      case 'approvals':
        return { title: 'Approvals', screen: <Approvals /> };
      case 'failed':
        return { title: 'Failed', screen: <Failed /> };
      case 'cluster':
        return { title: 'Cluster', screen: <Cluster /> };
      case 'events':
        return { title: 'Events', screen: <Events /> };
      case 'audit':
        return { title: 'Audit', screen: <Audit /> };
      case 'settings':
        return { title: 'Settings', screen: <Settings /> };
    }
  }
  return {
    title: 'Not found',
    screen: (
      <Page title="Page not found">
        <Empty title="No page has this address">
          <p className="break">{path}</p>
        </Empty>
      </Page>
    ),
  };
}

export function App() {
  const current = useSignal(session);
  useEffect(() => void startSession(), []);
  switch (current.state) {
    case 'loading':
      return (
        <div className="login">
          <Loading rows={2} />
        </div>
      );
    case 'unreachable':
      return (
        <div className="login">
          <div className="stack">
            <ErrorNote error={current.problem} />
            <Button icon="retry" onClick={() => void loadSession()}>
              Try again
            </Button>
          </div>
        </div>
      );
    case 'out':
      return (
        <>
          <Login problem={current.problem} />
          <Toasts />
        </>
      );
    case 'in':
      return <Inside />;
  }
}

function Inside() {
  const { path } = useLocation();
  const { title, screen } = screenOf(path);
  useEffect(() => {
    document.title = `${title} · Leasehold`;
  }, [title]);
  return (
    <Shell>
      <Boundary key={path}>
        <Suspense
          fallback={
            <div className="page">
              <Loading />
            </div>
          }
        >
          {screen}
        </Suspense>
      </Boundary>
    </Shell>
  );
}

/** Keeps the rest of the UI alive when one screen throws. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Page title="This page has failed">
        <ErrorNote error={this.state.error} />
        <div className="buttons">
          <Button icon="retry" onClick={() => location.reload()}>
            Reload
          </Button>
        </div>
      </Page>
    );
  }
}
