/** The bar under the list of workers: what can be done to all that are selected. */

import { plural } from '../../model/text.ts';
import { Button } from '../../ui/buttons.tsx';
import { runAction } from '../../ui/toast.tsx';
import { editWorkers } from './edit.ts';

export function SelectionBar({
  names,
  onChanged,
  onClear,
}: {
  readonly names: readonly string[];
  readonly onChanged: () => void;
  readonly onClear: () => void;
}) {
  return (
    <div className="bulk" role="region" aria-label="What to do with the selected workers">
      <span className="strong">{plural(names.length, 'worker')}</span>
      <Button
        small
        icon="play"
        onClick={() => runAction(() => editWorkers(names, { enabled: true }).then(onChanged), 'They take tasks.')}
      >
        Enable
      </Button>
      <Button
        small
        icon="pause"
        onClick={() =>
          runAction(
            () => editWorkers(names, { enabled: false }).then(onChanged),
            'They drain: they take nothing more, and what they run goes on.',
          )
        }
      >
        Drain
      </Button>
      <Button small kind="plain" icon="close" aria-label="Select none" onClick={onClear} />
    </div>
  );
}
