/** The dialog that creates a worker and then shows the one command that joins or installs it, or the address and secret of an agent. */

import { useState } from 'react';
import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { commaList } from '../../model/text.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field, Segmented } from '../../ui/fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { State } from '../../ui/states.tsx';
import { type Created, HowToJoin, type JoinKind, type Manifest } from './how-to-join.tsx';

const KINDS: readonly { readonly value: JoinKind; readonly label: string }[] = [
  { value: 'join', label: 'A worker' },
  { value: 'install', label: 'Installed there' },
  { value: 'agent', label: 'A dazflow agent' },
];

const ABOUT: Readonly<Record<JoinKind, string>> = {
  join: 'A worker on a host that has Leasehold. You get one command to run there, with a code that works once.',
  install:
    'A worker on a host that has only Node. You get one line that installs the signed release of this node there; it upgrades itself later.',
  agent: 'A program that speaks the protocol of dazflow. You get the address and the secret that it connects with.',
};

export function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [tags, setTags] = useState('');
  const [priority, setPriority] = useState('');
  const [handlers, setHandlers] = useState('');
  const [queues, setQueues] = useState('');
  const [kind, setKind] = useState<JoinKind>('join');
  const [created, setCreated] = useState<Created>();
  const [release, setRelease] = useState<Manifest>();
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
          <HowToJoin kind={kind} created={created} release={release} />
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
        // Before anything is made: a node without a release installs nothing.
        if (kind === 'install') setRelease(await client.call('releaseManifest'));
        setCreated(
          await client.call('createWorker', {
            body: {
              name: name.trim(),
              tags: commaList(tags),
              ...(priority === '' ? {} : { priority: Number(priority) }),
              ...(handlers.trim() === '' ? {} : { handlers: handlers.trim() === '*' ? null : commaList(handlers) }),
              ...(queues.trim() === '' ? {} : { queues: commaList(queues) }),
              code: kind !== 'agent',
            },
          }),
        );
        return false;
      }}
    >
      <Segmented label="What it is" options={KINDS} value={kind} onChange={setKind} />
      <p className="ink-2">{ABOUT[kind]}</p>
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
