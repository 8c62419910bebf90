import type { TagStore } from '../../../store.ts';
import { addTag, listTags, removeTag, renameTag } from '../../verbs/admin/tag.ts';
import type { StoreParts } from '../store-parts.ts';

export function tagStore({ writer }: StoreParts): TagStore {
  return {
    tagAdd: (tag) => writer.write('rest', (tx) => addTag(tx, tag)),
    tagList: () => writer.read(({ sql }) => listTags(sql)),
    tagRename: (change) => writer.write('rest', (tx) => renameTag(tx, change)),
    tagRemove: (change) => writer.write('rest', (tx) => removeTag(tx, change)),
  };
}
