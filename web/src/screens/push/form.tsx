/** The form of a push: its state, its checks, and the request. */

import { type FormEvent, useState } from 'react';
import { client, type Handler } from '../../api.ts';
import { go, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { ErrorNote, Notice } from '../../ui/states.tsx';
import { showDone } from '../../ui/toast.tsx';
import { HandlerFields } from './handler-fields.tsx';
import { InputPanel } from './input-panel.tsx';
import { OptionsPanel, problemsOf, startingOptions } from './options.tsx';
import { bodyOf } from './push-body.ts';
import type { PushDraft } from './push-draft.ts';
import { useTaskInput } from './use-task-input.ts';

export function Form({
  handlers,
  start,
  wanted,
  queue: asked,
}: {
  readonly handlers: readonly Handler[];
  readonly start: PushDraft | undefined;
  readonly wanted: string;
  readonly queue: string;
}) {
  const first =
    start?.handler ??
    (wanted !== '' ? wanted : (handlers.find(({ name }) => name === 'echo')?.name ?? handlers[0]?.name ?? ''));
  const task = useTaskInput(handlers, {
    handler: first,
    queue: start?.queue ?? asked,
    input: start?.input,
  });
  const { handler, queue, problems } = task;
  const [options, setOptions] = useState(() => startingOptions(start?.options ?? {}));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  const send = (event: FormEvent): void => {
    event.preventDefault();
    const { input, problems: wrong } = task.read();
    const found = { ...problemsOf(options), ...wrong };
    task.setProblems(found);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    setError(undefined);
    client
      .call('pushTasks', { body: bodyOf({ queue, handler, input, options, like: start }) })
      .then((answer) => {
        if (!('id' in answer)) return;
        showDone(answer.fresh ? 'The task is on disk.' : 'A task with this unique key was there before.');
        go(`/tasks/${segment(answer.id)}`);
      })
      .catch((thrown: unknown) => {
        setBusy(false);
        setError(thrown);
      });
  };
  return (
    <form className="two-panes" onSubmit={send}>
      <div className="stack">
        <HandlerFields {...task.handlerFields} />
        <InputPanel {...task.panel} />
        {error !== undefined && <ErrorNote error={error} />}
        {handlers.length === 0 && <Notice>No worker has joined yet. A pushed task waits until one joins.</Notice>}
        <div className="buttons">
          <Button type="submit" kind="primary" icon="push" busy={busy}>
            Push the task
          </Button>
        </div>
      </div>
      <aside>
        <OptionsPanel options={options} problems={problems} onChange={setOptions} />
      </aside>
    </form>
  );
}
