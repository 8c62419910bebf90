/** The columns of the list of artifacts, and an artifact as one column of a phone shows it. */

import type { Artifact } from '../../api.ts';
import { baseName, sizeText } from '../../model/files/words.ts';
import { shortId } from '../../model/text.ts';
import { Link, segment } from '../../router.tsx';
import { Time } from '../../ui/times.tsx';
import type { Column } from '../../ui/virtual-table.tsx';

export const COLUMNS: readonly Column<Artifact>[] = [
  {
    head: 'Artifact',
    track: 'minmax(200px, 3fr)',
    cell: (artifact) => (
      <Link to={`/artifacts/${segment(artifact.id)}${location.search}`} className="worker-line" title={artifact.name}>
        <FileName of={artifact} />
        <span className="quiet cut">{artifact.type}</span>
      </Link>
    ),
  },
  { head: 'Kind', track: '72px', cell: ({ kind }) => <span className="quiet">{kind}</span> },
  { head: 'Size', track: '88px', num: true, cell: ({ size }) => <Size of={size} /> },
  {
    head: 'Task',
    track: 'minmax(96px, 1fr)',
    cell: ({ task }) => (
      <Link to={`/tasks/${segment(task)}`} className="link mono" title={task}>
        {shortId(task)}
      </Link>
    ),
  },
  {
    head: 'Run',
    track: '64px',
    cell: ({ task }) => (
      <Link to={`/runs/${segment(task)}`} className="link" aria-label={`Run of ${shortId(task)}`}>
        run
      </Link>
    ),
  },
  {
    head: 'Created',
    track: '88px',
    num: true,
    cell: ({ createdAt }) => (
      <span className="quiet">
        <Time at={createdAt} />
      </span>
    ),
  },
];

/** Folders are quiet: the end of a name says what it is. Letters that turn the direction of a text end with it. */
export function FileName({ of: { name } }: { readonly of: Pick<Artifact, 'name'> }) {
  const base = baseName(name);
  return (
    <bdi className="file-name">
      <span className="quiet">{name.slice(0, name.length - base.length)}</span>
      <span className="strong">{base}</span>
    </bdi>
  );
}

export function Size({ of: bytes }: { readonly of: number }) {
  return <span title={`${bytes.toLocaleString('en')} bytes`}>{sizeText(bytes)}</span>;
}

export function narrowRow(artifact: Artifact) {
  return (
    <Link to={`/artifacts/${segment(artifact.id)}${location.search}`} className="narrow-row">
      <FileName of={artifact} />
      <span className="quiet">
        <Time at={artifact.createdAt} />
      </span>
      <span className="cut quiet">
        {artifact.kind} · {artifact.type}
      </span>
      <span className="quiet">
        <Size of={artifact.size} />
      </span>
    </Link>
  );
}
