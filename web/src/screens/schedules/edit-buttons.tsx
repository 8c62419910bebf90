/** Changes a schedule, makes another one like it, and removes it. */

import { useState } from 'react';
import { client, type ScheduleDetail } from '../../api.ts';
import { go, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { showDone } from '../../ui/toast.tsx';
import { EditSchedule } from './edit-dialog.tsx';

export function EditButtons({ of, onChanged }: { readonly of: ScheduleDetail; readonly onChanged: () => void }) {
  const [open, setOpen] = useState<'edit' | 'clone' | 'remove'>();
  const close = (): void => setOpen(undefined);
  return (
    <div className="buttons">
      <Button small icon="edit" onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button small icon="copy" onClick={() => setOpen('clone')}>
        Clone
      </Button>
      <Button small icon="trash" kind="danger" onClick={() => setOpen('remove')}>
        Delete
      </Button>
      {(open === 'edit' || open === 'clone') && (
        <EditSchedule
          of={of}
          clone={open === 'clone'}
          onClose={close}
          onDone={(name) => {
            onChanged();
            if (name !== of.name) go(`/schedules/${segment(name)}`);
          }}
        />
      )}
      {open === 'remove' && (
        <FormDialog
          title={`Delete ${of.name}`}
          submit="Delete the schedule"
          danger
          onClose={close}
          act={async () => {
            await client.call('removeSchedule', { params: { name: of.name } });
            showDone(`${of.name} is deleted.`);
            onChanged();
            go('/schedules');
          }}
        >
          <p>
            It fires no more, and its history of {of.history.length} fire times goes. The tasks that it has pushed stay.
          </p>
        </FormDialog>
      )}
    </div>
  );
}
