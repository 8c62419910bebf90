/** The bar under the list of workers, with the actions on the selected ones. */

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
    <div className="bulk" role="region" aria-label="Actions on the selected workers">
      <span className="strong">{plural(names.length, 'worker')}</span>
      <Button
        small
        icon="play"
        onClick={() =>
          runAction(() => editWorkers(names, { enabled: true }).then(onChanged), 'The selected workers take tasks.')
        }
      >
        Enable
      </Button>
      <Button
        small
        icon="pause"
        onClick={() =>
          runAction(
            () => editWorkers(names, { enabled: false }).then(onChanged),
            'The selected workers drain. They finish what they run and take nothing more.',
          )
        }
      >
        Drain
      </Button>
      <Button small kind="plain" icon="close" aria-label="Select none" onClick={onClear} />
    </div>
  );
}
