/** The progress of bulk jobs, shown on every screen. */

import { dismissJob, jobs } from '../live/jobs.ts';
import { useSignal } from '../live/signal.ts';
import { Button } from './buttons.tsx';
import { StateGlyph } from './icon.tsx';
import { Meter } from './meters.tsx';

export function Jobs() {
  return useSignal(jobs).map(({ id, title, total, done, refused, problem, state, stop }) => (
    <div key={id} className={`toast s-${refused > 0 ? 'attention' : state}`} role="status">
      <StateGlyph state={refused > 0 ? 'attention' : state} />
      <div className="grow stack tight">
        <p className="strong break">{title}</p>
        <Meter value={done + refused} max={total} label={title} />
        <p className="quiet">
          {done.toLocaleString('en')} of {total.toLocaleString('en')}
          {state === 'cancelled' && ', stopped'}
          {state === 'completed' && ', done'}
          {refused > 0 && `, ${refused} refused: ${problem}`}
        </p>
      </div>
      {state === 'running' ? (
        <Button small icon="stop" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button kind="plain" small icon="close" aria-label="Dismiss" onClick={() => dismissJob(id)} />
      )}
    </div>
  ));
}
