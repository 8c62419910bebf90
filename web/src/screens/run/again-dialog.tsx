/** Starts the definition of a run again, with the same input or another. */

import { useState } from 'react';
import { client, type RunDetail } from '../../api.ts';
import { prettyJson } from '../../model/json.ts';
import { jsonIn } from '../../model/json-text.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { began } from '../runs/start-dialog.tsx';
import { JsonField, NameField } from '../runs/start-fields.tsx';

/** A part of another run, or a plain task, is started elsewhere. */
export function canStartAgain({ kind, handler, definition, parent }: RunDetail): boolean {
  if (parent !== undefined) return false;
  return (
    kind === 'workflow' || kind === 'agent' || definition !== undefined || (kind === 'machine' && handler === 'machine')
  );
}

export function AgainDialog({ of: run, onClose }: { readonly of: RunDetail; readonly onClose: () => void }) {
  const [input, setInput] = useState(() => (run.input === undefined ? '' : prettyJson(run.input)));
  const [name, setName] = useState('');
  const given = jsonIn(input);
  return (
    <FormDialog
      title={`Run ${run.title} again`}
      submit="Start the run"
      wide
      disabled={!given.ok}
      onClose={onClose}
      act={async () => {
        const named = name.trim() === '' ? {} : { name: name.trim() };
        return began(await client.call('startRun', { body: { ...whatOf(run, given), ...named } as never }));
      }}
    >
      <p>
        Another run of the same {run.kind === 'workflow' || run.kind === 'agent' ? run.kind : 'definition'}. This one
        stays as it is.
      </p>
      <JsonField label="Input as JSON" text={input} onChange={setInput} />
      <NameField name={name} onChange={setName} />
    </FormDialog>
  );
}

function whatOf(run: RunDetail, given: ReturnType<typeof jsonIn>): object {
  const { kind, handler, queue, title, definition, labels } = run;
  const input = given.ok && given.value !== undefined ? { input: given.value } : {};
  if (kind === 'workflow' || kind === 'agent') return { task: { handler, queue, ...input }, labels };
  return definition === undefined ? { use: title, queue, labels, ...input } : { definition, queue, labels, ...input };
}
