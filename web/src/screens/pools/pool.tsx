/** The page of one pool: its workers over time, its starts, its decisions, and what a check would do now. */

import { poolState, startText, wouldText } from '../../model/pool/words.ts';
import { asSentence, plural } from '../../model/text.ts';
import { roughDuration } from '../../model/time.ts';
import { Link } from '../../router.tsx';
import { Page } from '../../ui/layout.tsx';
import { Notice, State, WhenLoaded } from '../../ui/states.tsx';
import { Time, useNow } from '../../ui/times.tsx';
import { Actions } from './actions.tsx';
import { Decisions } from './decisions.tsx';
import { HistoryChart } from './history-chart.tsx';
import { Figures, Launcher, Policy } from './panels.tsx';
import { Starts } from './starts.tsx';
import { usePool } from './use-pool.ts';

export default function PoolPage({ name }: { readonly name: string }) {
  const { pool, decisions, tickets, refresh } = usePool(name);
  const { data } = pool;
  const stands = data && poolState(data);
  return (
    <Page
      crumb={
        <Link to="/pools" className="crumb">
          Pools
        </Link>
      }
      title={
        <span className="title-line">
          <span className="break">{name}</span>
          {stands && <State state={stands.state} label={stands.label} />}
        </span>
      }
      about={data && <About of={data} />}
      actions={data && <Actions of={data} onChanged={refresh} />}
    >
      <WhenLoaded of={pool}>
        {(found) => (
          <>
            <Trouble of={found} />
            <Figures of={found} />
            <HistoryChart
              decisions={decisions.data ?? []}
              starts={tickets.data ?? []}
              of={found}
              readAt={found.readAt}
            />
            <WhenLoaded of={tickets}>{(rows) => <Starts tickets={rows} />}</WhenLoaded>
            <WhenLoaded of={decisions}>{(rows) => <Decisions decisions={rows} />}</WhenLoaded>
            <div className="cols">
              <Policy of={found} />
              <Launcher of={found} />
            </div>
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

type Found = NonNullable<ReturnType<typeof usePool>['pool']['data']>;

function About({ of: { now, enabled, againMs, readAt } }: { readonly of: Found }) {
  const next = useNow((at) => (againMs === undefined ? 0 : Math.max(0, Math.ceil((readAt + againMs - at) / 1000))));
  if (!enabled) return 'It is off: it starts nobody, and idle workers are sent home.';
  return (
    <>
      {wouldText(now)}
      {next > 2 && ` Time alone may change that in ${roughDuration(next * 1000)}.`}
    </>
  );
}

/** What its launcher said, as long as no worker has come since. */
function Trouble({ of: { problem, failures, launcher } }: { readonly of: Found }) {
  const text = useNow((now) => (problem === undefined ? '' : startText(problem, now)));
  if (problem === undefined) return null;
  return (
    <div role="alert">
      <Notice tone="trouble">
        <p className="strong">{asSentence(text)}</p>
        <p className="ink-2">
          {failures > 1 && `${plural(failures, 'start')} in a row have come to nothing. `}
          The newest was by the launcher {launcher.kind}, <Time at={problem.at} />. Each next one waits longer, up to a
          minute.
        </p>
      </Notice>
    </div>
  );
}
