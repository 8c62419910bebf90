/** The button that pauses or resumes a queue. */

import { client, type Queue } from '../../api.ts';
import { Button } from '../../ui/buttons.tsx';
import { runAction } from '../../ui/toast.tsx';

export function PauseButton({
  queue,
  onChanged,
}: {
  readonly queue: Queue;
  readonly onChanged: (queue: Queue) => void;
}) {
  const { name, paused } = queue;
  return (
    <Button
      small
      icon={paused ? 'play' : 'pause'}
      aria-label={paused ? `Resume ${name}` : `Pause ${name}`}
      onClick={() =>
        runAction(
          () => client.call(paused ? 'resumeQueue' : 'pauseQueue', { params: { queue: name } }).then(onChanged),
          paused ? `${name} is resumed.` : `${name} is paused. Running tasks continue.`,
        )
      }
    >
      <span className="wide-only">{paused ? 'Resume' : 'Pause'}</span>
    </Button>
  );
}
