/** The handler, queue and input of a task that somebody writes: as a form where the handler has a schema, else as JSON. */

import { useState } from 'react';
import type { Handler } from '../../api.ts';
import { draftOf, fieldsOf, valueOf } from '../../model/schema-form.ts';
import type { InputMode } from './input-panel.tsx';

export interface TaskInputStart {
  readonly handler: string;
  readonly queue: string;
  readonly input: unknown;
}

export function useTaskInput(handlers: readonly Handler[], start: TaskInputStart) {
  const [handler, setHandler] = useState(start.handler);
  const [queue, setQueue] = useState(start.queue);
  const info = handlers.find(({ name }) => name === handler);
  const fields = fieldsOf(info?.schema);
  const [mode, setMode] = useState<InputMode>(fields === undefined ? 'json' : 'form');
  const [written, setWritten] = useState(() =>
    fields === undefined ? { draft: {}, rest: {} } : draftOf(fields, start.input),
  );
  const [json, setJson] = useState(() => JSON.stringify(start.input ?? {}, undefined, 2));
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});

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
    const found: Record<string, string> = handler.trim() === '' ? { handler: 'is required' } : {};
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
  return {
    handler,
    queue,
    problems,
    setProblems,
    read,
    /** Of the fields that name the handler and the queue. */
    handlerFields: {
      handlers,
      handler,
      queue,
      problem: problems.handler,
      onHandler: changeHandler,
      onQueue: setQueue,
    },
    /** Of the panel of the input. */
    panel: {
      fields,
      known: info !== undefined,
      disagreement: info?.disagreement,
      mode,
      written,
      json,
      problems,
      onMode: changeMode,
      onWritten: setWritten,
      onJson: setJson,
    },
  };
}
