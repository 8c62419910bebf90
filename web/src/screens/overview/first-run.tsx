/** The guide of a new install: the exact commands for this node, each ticked off when it has happened. */

import { useEffect, useState } from 'react';
import { client, type Overview } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { go, Link, segment } from '../../router.tsx';
import { addressOf, useMay, useMe } from '../../session.ts';
import { Button, Command } from '../../ui/buttons.tsx';
import { Icon } from '../../ui/icon.tsx';
import { showError } from '../../ui/toast.tsx';

const KEY = 'leasehold.guide';

interface Guide {
  readonly shown: boolean;
  readonly pushed: boolean;
  readonly completed: boolean;
  readonly explained: boolean;
  readonly joined: boolean;
  readonly hide: () => void;
}

function hidden(): boolean {
  try {
    return localStorage.getItem(KEY) === 'hidden';
  } catch {
    return false;
  }
}

/** Whether the install is new, and which steps are done. Steps are done by what the node knows, not by clicks. */
export function useFirstRun(data: Overview | undefined): Guide {
  const [off, setOff] = useState(hidden);
  const [begun, setBegun] = useState(false);
  const total = data === undefined ? 0 : Object.values(data.tasks).reduce((sum, n) => sum + n, 0);
  const young = data !== undefined && total < 5;
  useEffect(() => {
    if (young) setBegun(true);
  }, [young]);
  const shown = !off && data !== undefined && (young || (begun && total < 50));
  const workers = useResource('workers', (signal) => client.call('listWorkers', { signal }), {
    enabled: shown,
    on: ({ kind }) => kind === 'registered',
  });
  const names = new Set(workers.data?.workers.filter(({ state }) => state === 'online').map(({ name }) => name));
  return {
    shown,
    pushed: total > 0,
    completed: (data?.tasks.completed ?? 0) > 0,
    explained: total > 1,
    joined: names.size > 1,
    hide: () => {
      setOff(true);
      try {
        localStorage.setItem(KEY, 'hidden');
      } catch {
        // Storage is closed: the guide comes again with the next visit.
      }
    },
  };
}

export function FirstRun({ guide }: { readonly guide: Guide }) {
  const me = useMe();
  const may = useMay('operator');
  const address = addressOf(me);
  const [busy, setBusy] = useState(false);
  const at = ` --server ${address}`;
  const sample = async (): Promise<void> => {
    setBusy(true);
    try {
      const pushed = await client.call('pushTasks', {
        body: { queue: 'echo', input: { hello: 'world', delay_ms: 1500 } },
      });
      if ('id' in pushed) go(`/tasks/${segment(pushed.id)}`);
    } catch (error) {
      showError(error);
    }
    setBusy(false);
  };
  const steps = [
    {
      done: guide.pushed,
      title: 'Push a first task',
      body: (
        <>
          <Command text={`npx leasehold push echo '{"hello":"world"}'${at} --follow`} />
          {may && (
            <div className="row wrap">
              <span className="quiet">or from here:</span>
              <Button small icon="play" busy={busy} onClick={() => void sample()}>
                Run the sample
              </Button>
              <Link to="/push" className="link">
                fill in a form
              </Link>
            </div>
          )}
        </>
      ),
    },
    {
      done: guide.completed,
      title: 'See it complete',
      body: (
        <p className="ink-2">
          The worker of this node takes it under a lease, runs it and records the result. The task was on disk before
          the push was answered.
        </p>
      ),
    },
    {
      done: guide.explained,
      title: 'Run something of your own',
      body: (
        <Command
          text={`npx leasehold push shell '{"command":"for i in 1 2 3; do echo step $i; sleep 1; done"}'${at} --follow`}
        />
      ),
    },
    {
      done: guide.joined,
      title: 'Add a second host',
      body: (
        <>
          <Command text={`npx leasehold workers create second --code${at}`} />
          <p className="ink-2">
            It prints the command to run on the other host.{' '}
            {may && (
              <>
                The screen{' '}
                <Link to="/workers" className="link">
                  Workers
                </Link>{' '}
                does the same.
              </>
            )}
          </p>
        </>
      ),
    },
  ];
  const left = steps.findIndex(({ done }) => !done);
  return (
    <section className="panel" aria-label="First steps">
      <div className="panel-head">
        <h2>First steps</h2>
        <span className="quiet">
          {steps.filter(({ done }) => done).length} of {steps.length}
        </span>
        <div className="grow" />
        <Button kind="plain" small onClick={guide.hide}>
          Hide
        </Button>
      </div>
      <ol className="steps">
        {steps.map(({ done, title, body }, i) => (
          <li key={title} className={done ? 'done' : ''}>
            <span className="mark">{done ? <Icon name="check" size={12} /> : i + 1}</span>
            <div className="stack tight">
              <h3>
                {title}
                {done && <span className="sr"> (done)</span>}
              </h3>
              {(i === left || (!done && i === left + 1)) && body}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
