-- Ask for this statement's moment.
--   rides on   nothing
--   locks      nothing
--   returns    the snapshot as text: xmin:xmax:running; since when the server runs
SELECT {{moment}}
