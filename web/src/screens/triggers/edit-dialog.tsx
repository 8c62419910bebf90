/** The dialog that makes a trigger, or changes one. */

import { useEffect, useState } from 'react';
import { client, errorText, type Handler, type Trigger } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { problemText } from '../../model/schedule-form.ts';
import {
  fieldOfTriggerProblem,
  type TriggerDraft,
  type TriggerLike,
  triggerDraft,
  triggerIn,
} from '../../model/trigger/form.ts';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { showDone } from '../../ui/toast.tsx';
import { plain } from '../push/push-draft.ts';
import { useTaskInput } from '../push/use-task-input.ts';
import { ActionFields } from './action-fields.tsx';
import { SecretOnce } from './secret-once.tsx';
import { SourceFields } from './source-fields.tsx';
import { TextField } from './text-field.tsx';

interface EditProps {
  /** Undefined: a new one. */
  readonly of?: Trigger;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}

export function EditTrigger(props: EditProps) {
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }));
  if (handlers.data === undefined) {
    return (
      <Dialog title="Trigger" onClose={props.onClose} kind="dialog wide">
        <WhenLoaded of={handlers}>{() => null}</WhenLoaded>
      </Dialog>
    );
  }
  return <Form {...props} handlers={handlers.data.handlers} />;
}

function Form({ of, onClose, onDone, handlers }: EditProps & { readonly handlers: readonly Handler[] }) {
  const [draft, setDraft] = useState(() => triggerDraft(of as TriggerLike | undefined));
  const { queue = '', handler = queue } = (of?.push ?? {}) as { readonly queue?: string; readonly handler?: string };
  const task = useTaskInput(handlers, {
    handler: of === undefined ? (handlers.find(({ name }) => name === 'echo')?.name ?? '') : handler,
    queue: queue === handler ? '' : queue,
    input: of?.push === undefined ? undefined : plain(of.input),
  });
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({});
  const [told, setTold] = useState<{ readonly name: string; readonly secret: string }>();
  // The dialog is longer than a screen: what was refused comes into view.
  useEffect(() => {
    if (Object.keys(refused).length > 0)
      document.querySelector<HTMLElement>('dialog[open] [aria-invalid="true"]')?.focus();
  }, [refused]);
  const change = (part: Partial<TriggerDraft>): void => {
    setRefused({});
    setDraft((before) => ({ ...before, ...part }));
  };
  const act = async (): Promise<boolean> => {
    const { input, problems: inInput } = task.read();
    const { body, problems } = triggerIn(draft, { queue: task.queue, handler: task.handler, input });
    const wrong = draft.action === 'push' ? { ...problems, ...inInput } : problems;
    task.setProblems(wrong);
    setRefused(wrong);
    if (Object.keys(wrong).length > 0) return false;
    try {
      const { name, newSecret } = await client.call('putTrigger', { body: body as never });
      if (newSecret !== undefined) {
        setTold({ name, secret: newSecret });
        return false;
      }
      showDone(`${name} is kept.`);
      onDone(name);
      return true;
    } catch (error) {
      const { details } = error as { readonly details?: { readonly field?: unknown } };
      const field = fieldOfTriggerProblem(details?.field);
      if (field === undefined) throw error;
      const said = { [field]: problemText(details, errorText(error)) };
      task.setProblems(said);
      setRefused(said);
      return false;
    }
  };
  const close = (): void => {
    onClose();
    if (told !== undefined) onDone(told.name);
  };
  if (told !== undefined) return <SecretOnce {...told} onClose={close} />;
  return (
    <FormDialog
      title={of === undefined ? 'Create a trigger' : `Edit ${of.name}`}
      submit={of === undefined ? 'Create the trigger' : 'Change the trigger'}
      wide
      disabled={draft.name.trim() === ''}
      onClose={onClose}
      act={act}
    >
      {of === undefined && (
        <TextField
          label="Name"
          hint="Of at most 50 characters; one that is taken is replaced"
          problem={refused.name}
          placeholder="paid"
          value={draft.name}
          onChange={(name) => change({ name })}
        />
      )}
      <SourceFields draft={draft} problems={refused} isNew={of?.kind !== draft.kind} onChange={change} />
      <ActionFields draft={draft} problems={refused} task={task} onChange={change} />
    </FormDialog>
  );
}
