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
                <th>When</th>
                <th>Deadline</th>
                <th>What became of it, and what the launcher said</th>
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
  const { id, at, expiresAt, endedAt, worker } = ticket;
  const { state, label } = ticketState(ticket.state);
  const text = useNow((now) => asSentence(startText(ticket, now)));
  return (
    <tr>
      <td title={id}>
        <State state={state} label={label} />
      </td>
      <td className="nowrap quiet">
        <Time at={at} />
      </td>
      <td className="nowrap">
        {ticket.state === 'open' ? (
          <>
            in <Countdown to={expiresAt} over="a moment" />
          </>
        ) : endedAt !== undefined && ticket.state !== 'failed' ? (
          <span className="quiet" title={`Good until ${exactTime(expiresAt)}`}>
            {ticket.state === 'used' ? 'came after' : 'ran out after'} {duration(Math.max(0, endedAt - at))}
          </span>
        ) : (
          <span className="quiet">–</span>
        )}
      </td>
      <td className={`said ${state === 'failed' || state === 'lost' ? 'bad' : ''}`}>{text}</td>
      <td className="wide-only">
        {worker === undefined ? (
          <span className="quiet">–</span>
        ) : (
          <Link to={`/workers/${segment(worker)}`} className="link break">
            {worker}
          </Link>
        )}
      </td>
    </tr>
  );
}
