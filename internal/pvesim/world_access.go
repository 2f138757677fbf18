package pvesim

// Access gives who there is and who may do what. It is part of the world: look
// at it within [World.View] and change it within [World.Change].
func (w *World) Access() *Access { return w.access }
