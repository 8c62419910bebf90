/** The dialog that makes a credential, or gives one another value. */

import { useState } from 'react';
import { type Credential, client } from '../../api.ts';
import {
  type CredentialDraft,
  type CredentialProblems,
  credentialIn,
  emptyDraft,
} from '../../model/credential/form.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field, Segmented } from '../../ui/fields.tsx';
import { showDone } from '../../ui/toast.tsx';
import { LevelField, NamedValues, WhoFields } from './fields.tsx';

const KINDS = [
  { value: 'text', label: 'A text' },
  { value: 'fields', label: 'Named fields' },
] as const;

export function SetCredential({
  of,
  onClose,
  onDone,
}: {
  /** Undefined: a new one. */
  readonly of?: Credential;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}) {
  const [draft, setDraft] = useState(() => emptyDraft(of?.name, of?.kind, of?.type));
  const [problems, setProblems] = useState<CredentialProblems>({});
  const change = (part: Partial<CredentialDraft>): void => {
    setProblems({});
    setDraft((before) => ({ ...before, ...part }));
  };
  return (
    <FormDialog
      title={of === undefined ? 'Create a credential' : `Another value for ${of.name}`}
      submit={of === undefined ? 'Create the credential' : 'Change the value'}
      onClose={onClose}
      act={async () => {
        const { body, problems: wrong } = credentialIn(draft, of === undefined);
        setProblems(wrong);
        if (Object.keys(wrong).length > 0) return false;
        const { name, version } = await client.call('setCredential', { body: body as never });
        showDone(
          version === 1 ? `${name} is kept.` : `${name} has version ${version}, which goes to all that hold it.`,
        );
        onDone(name);
        return true;
      }}
    >
      {of === undefined && (
        <Field label="Name" hint="What tasks and handlers call it" problem={problems.name}>
          {(props) => (
            <input
              {...props}
              className="input"
              value={draft.name}
              placeholder="github"
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => change({ name: event.target.value })}
            />
          )}
        </Field>
      )}
      <Segmented label="What it is" options={KINDS} value={draft.kind} onChange={(kind) => change({ kind })} />
      {draft.kind === 'text' ? (
        <Field
          label="Value"
          hint="Sealed as soon as the node has it. Nobody can read it here again."
          problem={problems.value}
        >
          {(props) => (
            <input
              {...props}
              className="input"
              type="password"
              value={draft.value}
              autoComplete="new-password"
              onChange={(event) => change({ value: event.target.value })}
            />
          )}
        </Field>
      ) : (
        <>
          <NamedValues fields={draft.fields} problem={problems.fields} onChange={(fields) => change({ fields })} />
          <Field label="Type" hint="What the fields are together, as their readers call it. Optional">
            {(props) => (
              <input
                {...props}
                className="input"
                value={draft.type}
                placeholder="postgres"
                autoComplete="off"
                onChange={(event) => change({ type: event.target.value })}
              />
            )}
          </Field>
        </>
      )}
      {of === undefined && (
        <>
          <WhoFields
            workers={draft.workers}
            tags={draft.tags}
            onWorkers={(workers) => change({ workers })}
            onTags={(tags) => change({ tags })}
          />
          <LevelField value={draft.level} onChange={(level) => change({ level })} />
        </>
      )}
    </FormDialog>
  );
}
