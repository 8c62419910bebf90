/** The dialog that creates a worker and then shows the one command that joins it. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { commaList } from '../../model/text.ts';
import { Command } from '../../ui/buttons.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { State } from '../../ui/states.tsx';

export function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [tags, setTags] = useState('');
  const [priority, setPriority] = useState('');
  const [created, setCreated] = useState<{
    readonly name: string;
    readonly join: string;
    readonly secret?: string | undefined;
    readonly code?: string | undefined;
  }>();
  const joined = useResource(
    `joined ${created?.name ?? ''}`,
    (signal) => client.call('getWorker', { params: { name: created?.name ?? '' }, signal }),
    { enabled: created !== undefined, everyMs: 3_000, on: ({ kind }) => kind === 'registered' },
  );
  if (created !== undefined) {
    const hasJoined = (joined.data?.workers ?? 0) > 0;
    return (
      <FormDialog
        title={`${created.name} may join`}
        submit={hasJoined ? 'Done' : 'I have it'}
        onClose={onClose}
        act={async () => undefined}
      >
        <div className="once">
          <p className="strong row">
            <Icon name="key" size={14} /> Shown this once
          </p>
          <p>On the other machine, with the address of a node that it can reach:</p>
          <Command text={created.join} />
          <p className="ink-2">
            {created.code === undefined
              ? 'It contains the secret of the worker: whoever has it can take its tasks.'
              : 'The code is good once, for ten minutes.'}
          </p>
        </div>
        <p role="status">
          {hasJoined ? (
            <State state="online" label={`${created.name} has joined`} />
          ) : (
            <State state="starting" label="Waiting for it to come" />
          )}
        </p>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title="Create a worker"
      submit="Create it"
      disabled={name.trim() === '' || (priority !== '' && !/^-?\d+$/.test(priority))}
      onClose={onClose}
      act={async () => {
        setCreated(
          await client.call('createWorker', {
            body: {
              name: name.trim(),
              tags: commaList(tags),
              ...(priority === '' ? {} : { priority: Number(priority) }),
              code: true,
            },
          }),
        );
        return false;
      }}
    >
      <p className="ink-2">
        Room for a worker on another machine. You get one command for that machine, with a code that is good once.
      </p>
      <Field label="Name" hint="What lists and leases call it: gpu-box">
        {(props) => (
          <input
            {...props}
            className="input"
            value={name}
            onChange={(event) => setName(event.target.value)}
            autoComplete="off"
          />
        )}
      </Field>
      <Field label="Tags" hint="What it may carry, with commas; it can say less of itself, never more">
        {(props) => (
          <input
            {...props}
            className="input"
            value={tags}
            onChange={(event) => setTags(event.target.value)}
            placeholder="gpu, gpu=nvidia"
            autoComplete="off"
          />
        )}
      </Field>
      <Field label="Priority" hint="Higher ones are given work first; default 0">
        {(props) => (
          <input
            {...props}
            className="input short"
            inputMode="numeric"
            value={priority}
            onChange={(event) => setPriority(event.target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
