"""The rules between objects, and those within one that no schema can say.

    module           rules                                                             codes
    files            names and places of files                                         GV360, GV361
    path_collisions  names that macOS and Windows cannot tell apart                    GV813
    identity         each object once, names of generated objects                      GV301 to GV303
    references       referenced objects and keys exist, sizes of restored volumes      GV310, GV311, GV351
    pools            pins and selectors fit the declared pools                         GV312 to GV317
    usage            a volume or an interface belongs to one machine                   GV320 to GV322
    document         contradictions inside one document, fields that gitvirt writes    GV330 to GV334, GV345, GV347, GV348, GV362 to GV364
    guest_config     public keys, secrets (`secret_texts`) and languages of first-boot data  GV337 to GV339, GV352, GV353, GV355, GV356
    spread           spread and anti-affinity are possible                             GV335, GV336
    network          addresses, MAC addresses and ranges                               GV340 to GV344, GV346, GV349, GV350, GV354
    change           what cannot change or be removed between two revisions            GV401 to GV420
    emptied          files that declared objects before, and declare nothing now       GV416
    renamed_files    what a file that is gone may have become; gives no findings       -
    quota            needs of a namespace and its quotas                               GV501
    secrets          Secrets in plain text                                             GV510, GV511
    secret_readers   encrypted Secrets can be opened where they are needed             GV512 to GV518
    secret_uses      where that is; gives no findings                                  -

A rule is a generator of findings: it reports everything that is wrong and stops at nothing. A rule about two objects
reports the later one and names the files of both, so that either author sees it. What another problem already reports
(an invalid document, an unreadable file) is not reported again as a missing object.

Pure: declarations in, findings out, all of them at once. `check_document` needs one document, `check_tree` all of a
tree and, where there is one, the revision before. Line and column come last, in `finding`, and only for what was found.

Severity says what follows. An error is certain to be wrong whatever the hosts report, and fails `gitvirt validate`. A
warning is probably wrong, and a notice is worth knowing: both depend on something that this tree does not contain.

Limits: imports neither Git nor the reconciler, opens no file, and decides nothing. What a finding means is up to the
caller. `gitvirt validate` sees the whole tree. The reconciler asks the same rules about one object, with a tree of only
what it refers to and who else refers to that (`reconciler.world.objects.validation`), and about changes of one file
(`reconciler.world.source.immutability`). So an error must not depend on objects that its own object is not related to.
"""

from schemas.validate.finding import Finding
from schemas.validate.inputs import EarlierRevision, ValidationPolicy
from schemas.validate.rules import check_document, check_tree
from schemas.validate.tree import AnyDeclaration, Declaration, Tree
