/** What can be done to a whole run: cancel it with a reason, go on with it, fork it. */

import { useState } from 'react';
import { client, type RunDetail } from '../../api.ts';
import { isFinal } from '../../model/task-states.ts';
import { plural } from '../../model/text.ts';
import { useMay } from '../../session.ts';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { useKeys } from '../../ui/keys.ts';
import { runAction, showDone } from '../../ui/toast.tsx';
import { AgainDialog, canStartAgain } from './again-dialog.tsx';
import { ForkDialog } from './fork-dialog.tsx';

export function Actions({ of: run, onDone }: { readonly of: RunDetail; readonly onDone: () => void }) {
  const may = useMay('operator');
  const [open, setOpen] = useState<'cancel' | 'fork' | 'again'>();
  const final = isFinal(run.state);
  const canRetry = run.state === 'failed' || run.state === 'cancelled';
  const params = { id: run.id };
  const retry = (): void =>
    runAction(() => client.call('retryRun', { params }).then(onDone), 'The run goes on where it stopped.');
  useKeys([
    ...(may && canRetry ? [{ keys: 'r', does: 'Go on with the run', group: 'Run', run: retry }] : []),
    ...(may && !final ? [{ keys: 'c', does: 'Cancel the run', group: 'Run', run: () => setOpen('cancel') }] : []),
  ]);
  if (!may) return null;
  return (
    <>
      {(run.kind === 'machine' || run.kind === 'loop') && (
        <Button icon="fork" onClick={() => setOpen('fork')}>
          Fork
        </Button>
      )}
      {canStartAgain(run) && (
        <Button icon="play" onClick={() => setOpen('again')}>
          Run again
        </Button>
      )}
      {canRetry && (
        <Button icon="retry" kind="primary" onClick={retry}>
          Go on
        </Button>
      )}
      {!final && (
        <Button
          icon="stop"
          kind="danger"
          disabled={run.cancelRequestedAt !== undefined}
          onClick={() => setOpen('cancel')}
        >
          Cancel
        </Button>
      )}
      {open === 'cancel' && <CancelRun of={run} onClose={() => setOpen(undefined)} onDone={onDone} />}
      {open === 'again' && <AgainDialog of={run} onClose={() => setOpen(undefined)} />}
      {open === 'fork' && <ForkDialog run={run} from={undefined} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function CancelRun({
  of: run,
  onClose,
  onDone,
}: {
  readonly of: RunDetail;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [reason, setReason] = useState('');
  const unfinished = Object.entries(run.members).reduce((sum, [state, n]) => sum + (isFinal(state) ? 0 : (n ?? 0)), 0);
  return (
    <FormDialog
      title="Cancel this run"
      submit={unfinished > 1 ? `Cancel ${plural(unfinished, 'task')}` : 'Cancel the run'}
      danger
      onClose={onClose}
      act={async () => {
        const body = reason.trim() === '' ? {} : { reason: reason.trim() };
        await client.call('cancelRun', { params: { id: run.id }, body });
        showDone('The run is cancelled. What runs is asked to stop.');
        onDone();
      }}
    >
      <p>
        All its unfinished tasks end, or are asked to stop. What it has done stays in its journal: the run can go on
        from there later.
      </p>
      <Field label="Reason (optional)" hint="Kept with the run">
        {(props) => (
          <input
            {...props}
            className="input"
            maxLength={1000}
            autoComplete="off"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
