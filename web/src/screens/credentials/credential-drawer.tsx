/** The drawer of one credential: who may hold it, and what each worker has. */

import { useState } from 'react';
import type { Credential } from '../../api.ts';
import { choiceText, holderState, holderText, levelText } from '../../model/credential/words.ts';
import { go, Link, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { State, WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { Actions } from './actions.tsx';
import { TakeAway } from './take-away-dialog.tsx';
import { useCredential } from './use-credentials.ts';

export function CredentialDrawer({ name, onChanged }: { readonly name: string; readonly onChanged: () => void }) {
  const credential = useCredential(name);
  const changed = (): void => {
    credential.refresh();
    onChanged();
  };
  return (
    <Drawer title={name} onClose={() => go('/credentials')}>
      <WhenLoaded of={credential}>
        {(data) => (
          <>
            <Actions of={data} onChanged={changed} />
            <About of={data} />
            <Choice of={data} onChanged={changed} />
            <Holders of={data} />
          </>
        )}
      </WhenLoaded>
    </Drawer>
  );
}

function About({ of: { version, kind, type, level, createdAt, changedAt } }: { readonly of: Credential }) {
  return (
    <Panel title="What it is">
      <div className="panel-body">
        <KeyValues
          of={[
            ['Version', version],
            ['Value', kind === 'text' ? 'a text' : `fields${type === undefined ? '' : ` of ${type}`}`],
            ['Demanded', level === undefined ? 'nothing: as the worker can' : levelText(level)],
            ['Made', <Time key="m" at={createdAt} />],
            ['Changed', <Time key="c" at={changedAt} />],
          ]}
        />
      </div>
    </Panel>
  );
}

function Choice({ of: data, onChanged }: { readonly of: Credential; readonly onChanged: () => void }) {
  const { name, workers, tags } = data;
  const [taking, setTaking] = useState<{ readonly workers?: string[]; readonly tags?: string[] }>();
  const entries = [
    ...workers.map((worker) => ({ key: `w ${worker}`, text: worker, one: { workers: [worker] } })),
    ...tags.map((tag) => ({ key: `t ${tag}`, text: `whoever has ${tag}`, one: { tags: [tag] } })),
  ];
  return (
    <Panel title="Who may hold it" count={entries.length}>
      {entries.length === 0 ? (
        <div className="panel-body quiet">Nobody. Give it to a worker, or to all that have a tag.</div>
      ) : (
        <ul className="panel-body stack tight">
          {entries.map(({ key, text, one }) => (
            <li key={key} className="row">
              <span className="grow break">{text}</span>
              <Button small kind="plain" aria-label={`Take away from ${text}`} onClick={() => setTaking(one)}>
                Take away
              </Button>
            </li>
          ))}
        </ul>
      )}
      {taking !== undefined && (
        <TakeAway
          name={name}
          from={taking}
          who={choiceText({ workers: taking.workers ?? [], tags: taking.tags ?? [] })}
          onClose={() => setTaking(undefined)}
          onDone={onChanged}
        />
      )}
    </Panel>
  );
}

function Holders({ of: { holders } }: { readonly of: Credential }) {
  return (
    <Panel title="Workers" count={holders.length}>
      {holders.length === 0 ? (
        <div className="panel-body quiet">No worker that may hold it has come yet.</div>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th>Worker</th>
              <th>What it has</th>
              <th>How it keeps it</th>
            </tr>
          </thead>
          <tbody>
            {holders.map((holder) => (
              <tr key={holder.worker}>
                <td>
                  <Link to={`/workers/${segment(holder.worker)}`} className="strong break">
                    {holder.worker}
                  </Link>
                </td>
                <td>
                  <span className="stack tightest">
                    <State state={holderState(holder)} label={holderText(holder)} />
                    {holder.error !== undefined && <span className="bad break">{holder.error}</span>}
                    <span className="quiet">
                      <Time at={holder.changedAt} />
                    </span>
                  </span>
                </td>
                <td>{levelText(holder.level)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
