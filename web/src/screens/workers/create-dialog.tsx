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
  const [handlers, setHandlers] = useState('');
  const [queues, setQueues] = useState('');
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
          <p>Run this on the other host. The address in it must be one that the host can reach:</p>
          <Command text={created.join} />
          <p className="ink-2">
            {created.code === undefined
              ? 'It contains the secret of the worker. Anyone who has the secret can take its tasks.'
              : 'The code works once, for ten minutes.'}
          </p>
        </div>
        <p role="status">
          {hasJoined ? (
            <State state="online" label={`${created.name} has joined`} />
          ) : (
            <State state="starting" label="Waiting for it to join" />
          )}
        </p>
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title="Create a worker"
      submit="Create the worker"
      disabled={name.trim() === '' || (priority !== '' && !/^-?\d+$/.test(priority))}
      onClose={onClose}
      act={async () => {
        setCreated(
          await client.call('createWorker', {
            body: {
              name: name.trim(),
              tags: commaList(tags),
              ...(priority === '' ? {} : { priority: Number(priority) }),
              ...(handlers.trim() === '' ? {} : { handlers: handlers.trim() === '*' ? null : commaList(handlers) }),
              ...(queues.trim() === '' ? {} : { queues: commaList(queues) }),
              code: true,
            },
          }),
        );
        return false;
      }}
    >
      <p className="ink-2">A worker on another host. You get one command to run there, with a code that works once.</p>
      <Field label="Name" hint="Its name in lists and leases, such as gpu-box">
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
      <Field label="Tags" hint="The tags it may carry, separated by commas. It may carry fewer, never more.">
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
      <Field
        label="Handlers"
        hint="What it may run, separated by commas, or * for whatever it offers. Without any: what it offers when it first joins"
      >
        {(props) => (
          <input
            {...props}
            className="input"
            value={handlers}
            onChange={(event) => setHandlers(event.target.value)}
            placeholder="render, echo, http"
            autoComplete="off"
          />
        )}
      </Field>
      <Field label="Queues" hint="The queues it may serve, separated by commas. Without any: all">
        {(props) => (
          <input
            {...props}
            className="input"
            value={queues}
            onChange={(event) => setQueues(event.target.value)}
            autoComplete="off"
          />
        )}
      </Field>
      <Field label="Priority" hint="Workers of higher priority get work first. Default 0">
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
