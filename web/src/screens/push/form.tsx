/** The form of a push: its state, its checks, and the request. */

import { type FormEvent, useState } from 'react';
import { client, type Handler } from '../../api.ts';
import { draftOf, fieldsOf, valueOf } from '../../model/schema-form.ts';
import { go, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { ErrorNote, Notice } from '../../ui/states.tsx';
import { showDone } from '../../ui/toast.tsx';
import { HandlerFields } from './handler-fields.tsx';
import { type InputMode, InputPanel } from './input-panel.tsx';
import { OptionsPanel, problemsOf, startingOptions } from './options.tsx';
import { bodyOf } from './push-body.ts';
import type { PushDraft } from './push-draft.ts';

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
  const [handler, setHandler] = useState(first);
  const [queue, setQueue] = useState(start?.queue ?? asked);
  const info = handlers.find(({ name }) => name === handler);
  const fields = fieldsOf(info?.schema);
  const [mode, setMode] = useState<InputMode>(fields === undefined ? 'json' : 'form');
  const [written, setWritten] = useState(() =>
    fields === undefined ? { draft: {}, rest: {} } : draftOf(fields, start?.input),
  );
  const [json, setJson] = useState(() => JSON.stringify(start?.input ?? {}, undefined, 2));
  const [options, setOptions] = useState(() => startingOptions(start?.options ?? {}));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  const changeHandler = (name: string): void => {
    setHandler(name);
    const next = fieldsOf(handlers.find((one) => one.name === name)?.schema);
    setMode(next === undefined ? 'json' : 'form');
    setWritten(next === undefined ? { draft: {}, rest: {} } : draftOf(next, undefined));
    setJson('{}');
    setProblems({});
  };
  const changeMode = (to: InputMode): void => {
    if (fields !== undefined && to === 'json')
      setJson(JSON.stringify(valueOf(fields, written.draft, written.rest).value, undefined, 2));
    if (fields !== undefined && to === 'form') {
      try {
        setWritten(draftOf(fields, JSON.parse(json)));
      } catch {
        setProblems({ input: 'is not JSON: correct it before you switch to the form' });
        return;
      }
    }
    setProblems({});
    setMode(to);
  };
  const read = (): { readonly input: unknown; readonly problems: Record<string, string> } => {
    const found: Record<string, string> = problemsOf(options);
    if (handler.trim() === '') found.handler = 'is required';
    if (mode === 'form' && fields !== undefined) {
      const { value, problems: inner } = valueOf(fields, written.draft, written.rest);
      return { input: value, problems: { ...found, ...inner } };
    }
    try {
      return { input: JSON.parse(json), problems: found };
    } catch (thrown) {
      return { input: undefined, problems: { ...found, input: `is not JSON: ${(thrown as Error).message}` } };
    }
  };
  const send = (event: FormEvent): void => {
    event.preventDefault();
    const { input, problems: found } = read();
    setProblems(found);
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
        <HandlerFields
          handlers={handlers}
          handler={handler}
          queue={queue}
          problem={problems.handler}
          onHandler={changeHandler}
          onQueue={setQueue}
        />
        <InputPanel
          fields={fields}
          known={info !== undefined}
          disagreement={info?.disagreement}
          mode={mode}
          written={written}
          json={json}
          problems={problems}
          onMode={changeMode}
          onWritten={setWritten}
          onJson={setJson}
        />
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
