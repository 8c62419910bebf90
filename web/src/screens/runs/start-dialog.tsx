/** The dialog that starts a run: of a machine or a graph that somebody brings, of a machine that workers know, of a workflow in code. */

import { useState } from 'react';
import { client, type Handler } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { jsonIn } from '../../model/json-text.ts';
import { go, segment } from '../../router.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field, Segmented } from '../../ui/fields.tsx';
import { showDone } from '../../ui/toast.tsx';
import { HandlerFields } from '../push/handler-fields.tsx';
import { InputPanel } from '../push/input-panel.tsx';
import { useTaskInput } from '../push/use-task-input.ts';
import { DefinitionField, useCheck } from './definition-field.tsx';
import { JsonField, NameField } from './start-fields.tsx';

type Source = 'text' | 'use' | 'code';

const NO_HANDLERS: readonly Handler[] = [];

export function StartDialog({ onClose }: { readonly onClose: () => void }) {
  const [source, setSource] = useState<Source>('text');
  const [text, setText] = useState('');
  const [use, setUse] = useState('');
  const [input, setInput] = useState('');
  const [name, setName] = useState('');
  const handlers = useResource('handlers', (signal) => client.call('listHandlers', { signal }));
  const known = handlers.data?.handlers ?? NO_HANDLERS;
  const task = useTaskInput(known, { handler: '', queue: '', input: undefined });
  const check = useCheck(source === 'text' ? text : '');
  const given = jsonIn(input);
  const ready =
    source === 'code'
      ? task.handler.trim() !== ''
      : given.ok && (source === 'use' ? use.trim() !== '' : check?.definition !== undefined);

  const act = async (): Promise<boolean> => {
    const named = name.trim() === '' ? {} : { name: name.trim() };
    const entered = given.ok && given.value !== undefined ? { input: given.value } : {};
    if (source !== 'code') {
      const what =
        source === 'use' ? { use: use.trim() } : { [check?.kind === 'graph' ? 'graph' : 'machine']: check?.definition };
      return began(await client.call('startRun', { body: { ...what, ...entered, ...named } as never }));
    }
    const { input: read, problems } = task.read();
    task.setProblems(problems);
    if (Object.keys(problems).length > 0) return false;
    const { handler } = task;
    const queue = task.queue.trim() || handler.split('@')[0] || handler;
    return began(await client.call('startRun', { body: { task: { queue, handler, input: read }, ...named } as never }));
  };
  return (
    <FormDialog title="Start a run" submit="Start the run" wide disabled={!ready} onClose={onClose} act={act}>
      <Segmented
        label="What is run"
        options={[
          { value: 'text', label: 'Machine or graph' },
          { value: 'use', label: 'By name' },
          { value: 'code', label: 'Workflow in code' },
        ]}
        value={source}
        onChange={setSource}
      />
      {source === 'text' && <DefinitionField text={text} check={check} onChange={setText} />}
      {source === 'use' && (
        <Field label="Name of the machine" hint="As the workers know it that have it registered">
          {(props) => (
            <input
              {...props}
              className="input"
              autoComplete="off"
              spellCheck={false}
              value={use}
              onChange={(event) => setUse(event.target.value)}
            />
          )}
        </Field>
      )}
      {source === 'code' ? (
        <>
          <HandlerFields {...task.handlerFields} />
          <InputPanel {...task.panel} />
        </>
      ) : (
        <JsonField label="Input as JSON (optional)" text={input} onChange={setInput} />
      )}
      <NameField name={name} onChange={setName} />
    </FormDialog>
  );
}

/** To the run that has begun, or that was there under the name. */
export function began({ id, fresh }: { readonly id: string; readonly fresh: boolean }): true {
  showDone(fresh ? 'The run has started.' : 'A run has this name already: here it is.');
  go(`/runs/${segment(id)}`);
  return true;
}
