/** The dialog that makes a schedule, changes one, or makes another one like it. */

import { useEffect, useState } from 'react';
import { client, errorText, type Handler, type ScheduleDetail } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { fieldOfProblem, newSchedule, problemText, scheduleDraft, timesOfDraft } from '../../model/schedule-form.ts';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { showDone } from '../../ui/toast.tsx';
import { HandlerFields } from '../push/handler-fields.tsx';
import { InputPanel } from '../push/input-panel.tsx';
import { OptionsPanel, problemsOf, startingOptions } from '../push/options.tsx';
import { bodyOf } from '../push/push-body.ts';
import { plain } from '../push/push-draft.ts';
import { useTaskInput } from '../push/use-task-input.ts';
import { NextTimes, usePreview } from './preview.tsx';
import { TimesFields } from './times-fields.tsx';

interface EditProps {
  /** Undefined: a new one. */
  readonly of?: ScheduleDetail | undefined;
  /** Another one like it. */
  readonly clone?: boolean;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}

export function EditSchedule(props: EditProps) {
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }));
  if (handlers.data === undefined) {
    return (
      <Dialog title="Schedule" onClose={props.onClose} kind="dialog wide">
        <WhenLoaded of={handlers}>{() => null}</WhenLoaded>
      </Dialog>
    );
  }
  return <Form {...props} handlers={handlers.data.handlers} />;
}

const MISSED = {
  latest: 'the last one fires, late',
  skip: 'none of them fires',
  all: 'each of them fires, up to a hundred',
} as const;

/** Where whoever makes a schedule is. */
const here = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

function Form({ of, clone = false, onClose, onDone, handlers }: EditProps & { readonly handlers: readonly Handler[] }) {
  const isNew = of === undefined || clone;
  const [name, setName] = useState(of === undefined ? '' : clone ? `${of.name}-copy` : of.name);
  const [draft, setDraft] = useState(() =>
    of === undefined ? newSchedule(here()) : scheduleDraft(of.times, of.timezone),
  );
  const [missed, setMissed] = useState<keyof typeof MISSED>(of?.missed ?? 'latest');
  const task = useTaskInput(handlers, {
    handler: of?.handler ?? handlers.find((one) => one.name === 'echo')?.name ?? '',
    queue: of === undefined || of.queue === of.handler ? '' : of.queue,
    input: of === undefined ? undefined : plain(of.input),
  });
  const kept = keptOf(of);
  const [options, setOptions] = useState(() => ({
    ...startingOptions(kept.options),
    timeout: of?.timeout === undefined ? '' : `${of.timeout}ms`,
  }));
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({});
  // The dialog is longer than a screen: what was refused comes into view.
  useEffect(() => {
    if (Object.keys(refused).length > 0)
      document.querySelector<HTMLElement>('dialog[open] [aria-invalid="true"]')?.focus();
  }, [refused]);
  const preview = usePreview(draft);
  const problems = { ...refused, ...preview.problems };
  const times = timesOfDraft(draft);

  const act = async (): Promise<boolean> => {
    const { input, problems: wrong } = task.read();
    const found = { ...problemsOf(options), ...wrong };
    if (name.trim() === '') found.name = 'is required';
    task.setProblems(found);
    setRefused(found);
    if (Object.keys(found).length > 0 || times === undefined) return false;
    const { handler, queue } = task;
    const pushed = bodyOf({ queue, handler, input, options, like: kept });
    try {
      const { state, nextAt } = await client.call('putSchedule', {
        body: {
          ...pushed,
          ...kept.rest,
          name: name.trim(),
          ...times,
          timezone: draft.timezone.trim() || 'UTC',
          missed,
        } as never,
      });
      showDone(nextAt === undefined ? `${name.trim()} is kept. It is ${state}.` : `${name.trim()} is kept.`);
    } catch (error) {
      const { details } = error as { readonly details?: { readonly field?: unknown } };
      const field = fieldOfProblem(details?.field, draft.kind);
      if (field === undefined) throw error;
      const said = { [field]: problemText(details, errorText(error)) };
      setRefused(said);
      task.setProblems(said);
      return false;
    }
    onDone(name.trim());
    return true;
  };
  return (
    <FormDialog
      title={of === undefined ? 'Create a schedule' : clone ? `A schedule like ${of.name}` : `Edit ${of.name}`}
      submit={isNew ? 'Create the schedule' : 'Change the schedule'}
      wide
      disabled={name.trim() === '' || times === undefined || Object.keys(preview.problems).length > 0}
      onClose={onClose}
      act={act}
    >
      {isNew && (
        <Field label="Name" problem={problems.name} hint="One that is taken is replaced">
          {(props) => (
            <input
              {...props}
              className="input"
              placeholder="nightly"
              autoComplete="off"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
      )}
      <div className="when-panes">
        <TimesFields
          draft={draft}
          problems={problems}
          onChange={(part) => {
            setRefused({});
            setDraft((before) => ({ ...before, ...part }));
          }}
        />
        <NextTimes next={preview.next} timezone={draft.kind === 'every' ? here() : draft.timezone} />
      </div>
      <Field label="Fire times that were missed" problem={problems.missed} hint="While nobody could fire them">
        {(props) => (
          <select
            {...props}
            className="input"
            value={missed}
            onChange={(event) => setMissed(event.target.value as keyof typeof MISSED)}
          >
            {Object.entries(MISSED).map(([value, text]) => (
              <option key={value} value={value}>
                {value}: {text}
              </option>
            ))}
          </select>
        )}
      </Field>
      <HandlerFields {...task.handlerFields} />
      <InputPanel {...task.panel} />
      <details>
        <summary className="quiet">Options of its tasks</summary>
        <OptionsPanel options={options} problems={problems} without={['delay', 'unique']} onChange={setOptions} />
      </details>
    </FormDialog>
  );
}

/** What the form has no fields for stays as it is. */
function keptOf(of: ScheduleDetail | undefined) {
  const {
    handler = '',
    queue = '',
    input,
    priority = 0,
    maxAttempts,
    placement,
    limits,
    fairness,
    retry,
    permissions,
  } = of ?? {};
  return {
    handler,
    queue,
    input,
    like: '',
    options: {
      ...(priority === 0 ? {} : { priority }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      ...(placement === undefined ? {} : { placement }),
      ...(limits === undefined ? {} : { limits }),
      ...(fairness === undefined ? {} : { fairness }),
    },
    rest: {
      ...(retry === undefined ? {} : { retry }),
      ...(permissions === undefined ? {} : { permissions }),
    },
  };
}
