/** The drawer of one artifact: what it is, its beginning or its picture, the way to its bytes, and its end. */

import { useState } from 'react';
import { type Artifact, client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { baseName } from '../../model/files/words.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { useMay } from '../../session.ts';
import { Button, CopyButton } from '../../ui/buttons.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { Time } from '../../ui/times.tsx';
import { Size } from './columns.tsx';
import { contentPath } from './content.ts';
import { FilePreview } from './preview.tsx';
import { RemoveFile } from './remove-dialog.tsx';

export function FileDrawer({
  id,
  onClose,
  onRemoved,
}: {
  readonly id: string;
  readonly onClose: () => void;
  readonly onRemoved: () => void;
}) {
  const artifact = useResource(`artifact ${id}`, (signal) => client.call('getArtifact', { params: { id }, signal }));
  const { data } = artifact;
  return (
    <Drawer title={data === undefined ? 'Artifact' : <bdi>{baseName(data.name)}</bdi>} onClose={onClose}>
      <WhenLoaded of={artifact}>
        {(shown) => (
          <>
            <Actions of={shown} onRemoved={onRemoved} />
            <About of={shown} />
            <FilePreview of={shown} />
          </>
        )}
      </WhenLoaded>
    </Drawer>
  );
}

function Actions({ of: artifact, onRemoved }: { readonly of: Artifact; readonly onRemoved: () => void }) {
  const may = useMay('operator');
  const [removing, setRemoving] = useState(false);
  return (
    <div className="buttons">
      {/* The node says under which name it is saved, and that it is saved and not shown. */}
      <a className="button primary small" href={contentPath(artifact.id)} download>
        <Icon name="download" size={14} />
        Download
      </a>
      {may && (
        <Button small icon="trash" kind="danger" onClick={() => setRemoving(true)}>
          Remove
        </Button>
      )}
      {removing && <RemoveFile of={artifact} onClose={() => setRemoving(false)} onRemoved={onRemoved} />}
    </div>
  );
}

function About({ of: artifact }: { readonly of: Artifact }) {
  const { id, name, type, kind, size, sha256, task, attempt, createdAt } = artifact;
  return (
    <Panel title="What it is">
      <div className="panel-body">
        <KeyValues
          of={[
            ['Name', <bdi key="n">{name}</bdi>],
            ['Type', type],
            ['Kind', kind],
            ['Size', <Size key="s" of={size} />],
            [
              'Task',
              <span key="t" className="row wrap">
                <Link to={`/tasks/${segment(task)}`} className="link mono" title={task}>
                  {shortId(task)}
                </Link>
                <span className="quiet">attempt {attempt}</span>
                <Link to={`/runs/${segment(task)}`} className="link">
                  its run
                </Link>
              </span>,
            ],
            ['Created', <Time key="c" at={createdAt} />],
            ['Id', <Copied key="i" text={id} label="Copy the id" />],
            ['SHA-256', <Copied key="h" text={sha256} label="Copy the SHA-256" />],
          ]}
        />
      </div>
    </Panel>
  );
}

function Copied({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <span className="row">
      <code className="cut" title={text}>
        {text}
      </code>
      <CopyButton text={text} label={label} />
    </span>
  );
}
