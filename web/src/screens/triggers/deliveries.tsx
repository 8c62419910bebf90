/** The deliveries of a trigger: what has happened, what became of it, and the task or run that it started. */

import { useState } from 'react';
import type { Firing, Trigger } from '../../api.ts';
import { shortId } from '../../model/text.ts';
import { countsText, isProblem, outcomeState, outcomeText } from '../../model/trigger/words.ts';
import { Link, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { Panel } from '../../ui/layout.tsx';
import { State } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';

const FIRST = 10;

export function Deliveries({ of, deliveries }: { readonly of: Trigger; readonly deliveries: readonly Firing[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? deliveries : deliveries.slice(0, FIRST);
  return (
    <Panel title="Deliveries" count={of.fired}>
      {deliveries.length === 0 ? (
        <div className="panel-body quiet">None yet. Each delivery stands here with what it started.</div>
      ) : (
        <>
          <p className="panel-note quiet">
            {of.fired > deliveries.length ? `The last ${deliveries.length}: ` : ''}
            {countsText(deliveries)}
          </p>
          <ul className="deliveries">
            {shown.map((one) => (
              <Delivery key={one.n} of={of} one={one} />
            ))}
          </ul>
        </>
      )}
      {deliveries.length > FIRST && (
        <div className="panel-foot">
          <Button kind="plain" small onClick={() => setAll(!all)}>
            {all ? 'Show less' : `Show all ${deliveries.length}`}
          </Button>
        </div>
      )}
    </Panel>
  );
}

function Delivery({ of, one }: { readonly of: Trigger; readonly one: Firing }) {
  const run = of.run !== undefined;
  return (
    <li>
      <State state={outcomeState(one)} label={one.state ?? one.outcome} />
      <span className="quiet nowrap when">
        <Time at={one.at} />
      </span>
      <span className="what">
        <span className="break">{one.about}</span>
        {(one.detail !== undefined || isProblem(one)) && (
          <span className={`break ${isProblem(one) ? 'bad' : 'quiet'}`}>
            {one.state === 'failed' && one.detail === undefined ? 'What it started has failed' : outcomeText(one)}
          </span>
        )}
        {one.task === undefined ? (
          one.outcome === 'pushed' && <span className="quiet">What it started is gone from the store.</span>
        ) : (
          <Link to={`/${run ? 'runs' : 'tasks'}/${segment(one.task)}`} className="link mono">
            {run ? 'run' : 'task'} {shortId(one.task)}
          </Link>
        )}
      </span>
    </li>
  );
}
