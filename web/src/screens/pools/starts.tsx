/** The starts of a pool: each ticket, its deadline, what the launcher said, and the worker that came with it. */

import { useState } from 'react';
import type { PoolTicket } from '../../api.ts';
import { startText, ticketState } from '../../model/pool/words.ts';
import { asSentence } from '../../model/text.ts';
import { duration, exactTime } from '../../model/time.ts';
import { Link, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { Panel } from '../../ui/layout.tsx';
import { State } from '../../ui/states.tsx';
import { Countdown, Time, useNow } from '../../ui/times.tsx';

const FIRST = 8;

export function Starts({ tickets }: { readonly tickets: readonly PoolTicket[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? tickets : tickets.slice(0, FIRST);
  return (
    <Panel title="Starts" count={tickets.length}>
      {tickets.length === 0 ? (
        <div className="panel-body quiet">No worker was started yet. Each start gets a ticket, which stands here.</div>
      ) : (
        <div className="table-wrap">
          <table className="table">
            <thead>
              <tr>
                <th>Ticket</th>
                <th className="wide-only">When</th>
                <th className="wide-only">Deadline</th>
                <th className="wraps">What became of it, and what the launcher said</th>
                <th className="wide-only">Worker</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((ticket) => (
                <Row key={ticket.n} ticket={ticket} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {tickets.length > FIRST && (
        <div className="panel-foot">
          <Button kind="plain" small onClick={() => setAll(!all)}>
            {all ? 'Show less' : `Show all ${tickets.length}`}
          </Button>
        </div>
      )}
    </Panel>
  );
}

function Row({ ticket }: { readonly ticket: PoolTicket }) {
  const { id, at, worker } = ticket;
  const { state, label } = ticketState(ticket.state);
  const text = useNow((now) => asSentence(startText(ticket, now)));
  const by = worker !== undefined && (
    <Link to={`/workers/${segment(worker)}`} className="link break">
      {worker}
    </Link>
  );
  return (
    <tr>
      <td title={id}>
        <State state={state} label={label} />
        <span className="narrow-only quiet">
          <Time at={at} />
        </span>
        <span className="narrow-only">
          <Deadline of={ticket} />
        </span>
      </td>
      <td className="wide-only nowrap quiet">
        <Time at={at} />
      </td>
      <td className="wide-only nowrap">
        <Deadline of={ticket} />
      </td>
      <td className={`said ${state === 'failed' || state === 'lost' ? 'bad' : ''}`}>
        <span>{text}</span>
        {by && <span className="narrow-only">{by}</span>}
      </td>
      <td className="wide-only">{by || <span className="quiet">–</span>}</td>
    </tr>
  );
}

/** Until when its worker may come; once it is over, how long it took. */
function Deadline({ of: { state, at, expiresAt, endedAt } }: { readonly of: PoolTicket }) {
  if (state === 'open') {
    return (
      <>
        in <Countdown to={expiresAt} over="a moment" />
      </>
    );
  }
  if (endedAt === undefined || state === 'failed') return <span className="quiet wide-only">–</span>;
  return (
    <span className="quiet" title={`Good until ${exactTime(expiresAt)}`}>
      {state === 'used' ? 'came after' : 'ran out after'} {duration(Math.max(0, endedAt - at))}
    </span>
  );
}
