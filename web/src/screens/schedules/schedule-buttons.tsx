/** The buttons that pause, resume and run a schedule. */

import { client, type Schedule } from '../../api.ts';
import { Button } from '../../ui/buttons.tsx';
import { runAction } from '../../ui/toast.tsx';

export function ScheduleButtons({
  schedule: { name, state },
  onChanged,
}: {
  readonly schedule: Schedule;
  readonly onChanged: () => void;
}) {
  const paused = state === 'paused';
  const params = { name };
  return (
    <div className="buttons">
      {state !== 'ended' && (
        <Button
          small
          icon={paused ? 'play' : 'pause'}
          aria-label={paused ? `Resume ${name}` : `Pause ${name}`}
          onClick={() =>
            runAction(
              () => client.call(paused ? 'resumeSchedule' : 'pauseSchedule', { params }).then(onChanged),
              paused ? `${name} is resumed.` : `${name} is paused, and misses nothing meanwhile.`,
            )
          }
        >
          <span className="wide-only">{paused ? 'Resume' : 'Pause'}</span>
        </Button>
      )}
      <Button
        small
        icon="push"
        aria-label={`Run now: ${name}`}
        onClick={() =>
          runAction(
            () => client.call('runSchedule', { params }).then(onChanged),
            `A task of ${name} is pushed; its fire times stay as they are.`,
          )
        }
      >
        <span className="wide-only">Run now</span>
      </Button>
    </div>
  );
}
