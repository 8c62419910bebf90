/** The dialog that tells the secret of a webhook, once. */

import { Command } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';

export function SecretOnce({
  name,
  secret,
  onClose,
}: {
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
}) {
  return (
    <FormDialog title={`The secret of ${name}`} submit="I have it" onClose={onClose} act={async () => undefined}>
      <div className="once">
        <p className="strong row">
          <Icon name="key" size={14} /> Shown this once
        </p>
        <Command text={secret} />
        <p className="ink-2">
          Give it to the sender, who signs each delivery with it. Anyone who has it can fire this trigger.
        </p>
      </div>
    </FormDialog>
  );
}
